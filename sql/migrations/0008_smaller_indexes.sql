-- Smaller entries in the three indexes that each new token writes to: less memory, and a shorter log after each checkpoint.
--
-- Writers wait while the indexes are made: five seconds with a million token values and three million events, on two cores. An
-- instance of the release before serves the audit trail of one activity slowly, or not in time, until it is replaced; all else of
-- it goes on.

-- The environment fills the word that the digest begins: with the number between them an entry is 8 bytes longer.
ALTER TABLE token_values DROP CONSTRAINT token_values_pkey;
ALTER TABLE token_values ADD CONSTRAINT token_values_pkey PRIMARY KEY (token_digest, environment, app_number);

-- The number of an activity is no other app's.
DROP INDEX token_values_of_activity;
CREATE INDEX token_values_of_activity ON token_values (activity_number) WHERE activity_number IS NOT NULL;

-- By a hash of the id an entry has a third of the bytes. Whoever asks by it names the id as well.
DROP INDEX events_of_activity;
CREATE INDEX events_of_activity ON events (hashtextextended(activity_id, 0), event_number);
