/// Everything that browsers are sent and that is no program: embedded in the binary, so that there is nothing to deploy
/// beside it. All of it is UTF-8.
///
/// It is a target of its own because bytes take the compiler long, and change seldom.
public enum WebAssets {
    /// What `GET /openapi.json` answers (OpenAPI 3.1).
    public static let openAPI = PackageResources.openapi_json

    /// The style sheets, scripts and drawings of the console, by file name.
    public static let consoleFiles = [
        "base.css": PackageResources.base_css, "console.css": PackageResources.console_css,
        "console.js": PackageResources.console_js, "icon.svg": PackageResources.icon_svg,
    ]

    /// The style sheets, scripts and drawings of the documentation, by file name.
    public static let docsFiles = [
        "base.css": PackageResources.base_css, "docs.css": PackageResources.docs_css,
        "docs.js": PackageResources.docs_js, "icon.svg": PackageResources.icon_svg,
    ]

    /// The drawings of guides, by file name.
    public static let images = [
        "register.svg": PackageResources.register_svg, "resolve.svg": PackageResources.resolve_svg,
    ]

    /// Mustache templates of the console, by name.
    public static let consoleTemplates = [
        "activity-rows": PackageResources.activity_rows_mustache,
        "activity": PackageResources.activity_mustache,
        "alias": PackageResources.alias_mustache,
        "apps": PackageResources.apps_mustache,
        "channels": PackageResources.channels_mustache,
        "chart": PackageResources.chart_mustache,
        "event-rows": PackageResources.event_rows_mustache,
        "installation": PackageResources.installation_mustache,
        "installations": PackageResources.installations_mustache,
        "keys": PackageResources.keys_mustache,
        "layout": PackageResources.layout_mustache,
        "moment": PackageResources.moment_mustache,
        "overview": PackageResources.overview_mustache,
        "problem": PackageResources.problem_mustache,
        "purge": PackageResources.purge_mustache,
        "search-guide": PackageResources.search_guide_mustache,
        "search": PackageResources.search_mustache,
        "sign-in": PackageResources.sign_in_mustache,
        "stale-rows": PackageResources.stale_rows_mustache,
        "stale": PackageResources.stale_mustache,
        "system": PackageResources.system_mustache,
        "timeline": PackageResources.timeline_mustache,
        "token-rows": PackageResources.token_rows_mustache,
    ]

    /// Mustache templates of the documentation, by name.
    public static let docsTemplates = [
        "docs-contents": PackageResources.docs_contents_mustache,
        "docs-guide": PackageResources.docs_guide_mustache,
        "docs-index": PackageResources.docs_index_mustache,
        "docs-layout": PackageResources.docs_layout_mustache,
        "docs-members": PackageResources.docs_members_mustache,
        "docs-missing": PackageResources.docs_missing_mustache,
        "docs-operations": PackageResources.docs_operations_mustache,
        "docs-reference": PackageResources.docs_reference_mustache,
        "docs-schemas": PackageResources.docs_schemas_mustache,
    ]

    /// The guides as fragments of HTML, which `deploy/docs` makes of the Markdown files of `Documentation.docc`, by the
    /// last part of their paths.
    public static let guides = [
        "console": PackageResources.console_html,
        "error-codes": PackageResources.error_codes_html,
        "for-app-developers": PackageResources.for_app_developers_html,
        "for-operators": PackageResources.for_operators_html,
        "for-senders": PackageResources.for_senders_html,
        "monitoring": PackageResources.monitoring_html,
        "running-in-production": PackageResources.running_in_production_html,
        "states-of-an-activity": PackageResources.states_of_an_activity_html,
        "threats": PackageResources.threats_html,
        "where-the-time-goes": PackageResources.where_the_time_goes_html,
    ]
}
