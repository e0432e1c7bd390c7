/// The templates of the console, parsed once, and the files that its pages load.
enum ConsoleTemplates {
    /// The pages and what they share, by name.
    private static let templates = PageTemplates([
        "layout": PackageResources.layout_mustache,
        "sign-in": PackageResources.sign_in_mustache, "problem": PackageResources.problem_mustache,
        "apps": PackageResources.apps_mustache, "overview": PackageResources.overview_mustache,
        "chart": PackageResources.chart_mustache, "search": PackageResources.search_mustache,
        "search-guide": PackageResources.search_guide_mustache,
        "activity": PackageResources.activity_mustache, "alias": PackageResources.alias_mustache,
        "activity-rows": PackageResources.activity_rows_mustache,
        "token-rows": PackageResources.token_rows_mustache, "event-rows": PackageResources.event_rows_mustache,
        "stale": PackageResources.stale_mustache,
        "stale-rows": PackageResources.stale_rows_mustache, "purge": PackageResources.purge_mustache,
        "installations": PackageResources.installations_mustache,
        "installation": PackageResources.installation_mustache, "channels": PackageResources.channels_mustache,
        "keys": PackageResources.keys_mustache, "system": PackageResources.system_mustache,
        "moment": PackageResources.moment_mustache, "timeline": PackageResources.timeline_mustache,
    ])

    /// The whole page.
    static func render(_ name: String, _ fields: Fields) -> String { templates.render(name, fields) }

    /// The files that pages load.
    static let assets = PageAssets(
        below: "/console/assets",
        [
            "base.css": PackageResources.base_css, "console.css": PackageResources.console_css,
            "console.js": PackageResources.console_js, "icon.svg": PackageResources.icon_svg,
        ]
    )
}
