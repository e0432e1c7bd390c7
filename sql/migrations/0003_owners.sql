-- The owner of an installation: the signed-in user with the greatest (subject_observed_at, subject) that registered it. A
-- user known by their tokens alone has no time here, and gives way to whoever registers the installation.
ALTER TABLE installations ADD COLUMN subject_observed_at timestamptz;

-- The greatest observedAt at which one user registered what another had: aliases given before it are gone.
ALTER TABLE installations ADD COLUMN taken_over_at timestamptz;
