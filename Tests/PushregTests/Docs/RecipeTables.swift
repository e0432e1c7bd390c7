import Foundation

/// The tables, files and programs for the recipes of the migration guide. The names have characters that every format
/// must escape.
enum RecipeTables {
    static let order = #"a "b" \ 'c' é,"#
    static let user = #"u\"1",\n"#
    static let commands = [tables, export, scripts, aws]

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    private static let tables = """
        psql -X -q -v ON_ERROR_STOP=1 "$OWN_DATABASE" <<'SQL'
        CREATE TABLE live_tokens (activity_id text, order_id text, token text, updated_at timestamptz);
        INSERT INTO live_tokens VALUES
            ('a-1', \(quoted(order)), 'aa01', now() - interval '1 hour'),
            ('a-2', 'order-2', 'AA02', now() - interval '2 hours'),
            ('a-over', 'order-3', 'aa03', now() - interval '9 hours');
        CREATE TABLE user_activities (
            user_id text, activity text, token bytea, started_at timestamp, updated_at timestamp
        );
        INSERT INTO user_activities
        SELECT \(quoted(user)), 'match-7', '\\xbb01', at - interval '1 hour', at
        FROM (SELECT now() AT TIME ZONE 'UTC' - interval '1 minute' AS at) AS t;
        CREATE TABLE devices (device_id text, user_id text, device_token text, seen_at timestamptz);
        INSERT INTO devices VALUES
            ('d-1', \(quoted(user)), 'cc01', now() - interval '1 day'),
            ('d-2', \(quoted(user)), 'cc02', now() - interval '90 days');
        SQL
        """

    private static let scripts = """
        cp '\(DocumentedCommand.project.path)'/Sources/WebAssets/Documentation.docc/Examples/*-to-ndjson.py .
        """

    private static let aws = """
        aws() {
            cat <<'JSON'
        {"Endpoints": [
            {"EndpointArn": "arn:aws:sns:eu-west-1:111122223333:endpoint/APNS/food/e-1",
                "Attributes": {"Enabled": "true", "Token": "ee01", "CustomUserData": "u-sns"}},
            {"EndpointArn": "arn:aws:sns:eu-west-1:111122223333:endpoint/APNS/food/e-2",
                "Attributes": {"Enabled": "false", "Token": "ee02", "CustomUserData": "u-sns"}}
        ]}
        JSON
        }
        """

    private static let export = """
        gzip -c >players.csv.gz <<'CSV'
        id,identifier,device_type,tags,last_active,invalid_identifier,external_user_id
        p-1,dd01,0,"{""a"": ""b""}",1760000000,f,u-csv
        p-2,dd02,1,,1760000000,f,u-csv
        p-3,dd03,0,,1760000000,f,
        CSV
        """
}
