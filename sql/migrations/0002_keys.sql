CREATE TYPE api_key_role AS ENUM ('client', 'sender', 'auditor', 'admin', 'root');

-- Of a key's secret only the SHA-256 is stored: 142 random bits need no salt and no slow hash.
-- Root keys belong to no app; they stand under app_number 0, which no app has (apps are numbered from 1), so this
-- primary key has the app's number like all others.
CREATE TABLE api_keys (
    app_number bigint NOT NULL,
    -- The public part: 'prc_0aB1cD2eF3gH'.
    key_id text COLLATE "C" NOT NULL,
    role api_key_role NOT NULL,
    secret_digest bytea NOT NULL,
    name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    -- To the minute: each instance writes it at most that often.
    last_used_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (app_number, key_id),
    CONSTRAINT api_keys_digest_is_sha256 CHECK (octet_length(secret_digest) = 32),
    CONSTRAINT api_keys_root_belongs_to_no_app CHECK ((role = 'root') = (app_number = 0))
) WITH (fillfactor = 80);

-- A request's credentials name a key and no app. It is not unique, so it need not begin with the app: of two keys with
-- the same 71 random bits the digest tells. On Citus this small table is a reference table, as apps is.
CREATE INDEX api_keys_by_id ON api_keys (key_id);

-- Which key an event of type key-created or key-revoked is about. Those of root keys stand under app_number 0.
ALTER TABLE events ADD COLUMN key_id text COLLATE "C";
