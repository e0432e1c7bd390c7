// The compiler reads the files as they are (#embed, of C23): as a literal of Swift, the same bytes took minutes of each build.
// A file more is a block and a line here; a test compares the lines with the folders.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include "CWebAssets.h"

static const unsigned char openapi_json[] = {
#embed "../WebAssets/openapi.json"
};
static const unsigned char shared_base_css[] = {
#embed "../WebAssets/Shared/base.css"
};
static const unsigned char shared_icon_svg[] = {
#embed "../WebAssets/Shared/icon.svg"
};
static const unsigned char console_activity_rows_mustache[] = {
#embed "../WebAssets/Console/activity-rows.mustache"
};
static const unsigned char console_activity_mustache[] = {
#embed "../WebAssets/Console/activity.mustache"
};
static const unsigned char console_alias_mustache[] = {
#embed "../WebAssets/Console/alias.mustache"
};
static const unsigned char console_apps_mustache[] = {
#embed "../WebAssets/Console/apps.mustache"
};
static const unsigned char console_channels_mustache[] = {
#embed "../WebAssets/Console/channels.mustache"
};
static const unsigned char console_chart_mustache[] = {
#embed "../WebAssets/Console/chart.mustache"
};
static const unsigned char console_console_css[] = {
#embed "../WebAssets/Console/console.css"
};
static const unsigned char console_console_js[] = {
#embed "../WebAssets/Console/console.js"
};
static const unsigned char console_event_rows_mustache[] = {
#embed "../WebAssets/Console/event-rows.mustache"
};
static const unsigned char console_installation_mustache[] = {
#embed "../WebAssets/Console/installation.mustache"
};
static const unsigned char console_installations_mustache[] = {
#embed "../WebAssets/Console/installations.mustache"
};
static const unsigned char console_keys_mustache[] = {
#embed "../WebAssets/Console/keys.mustache"
};
static const unsigned char console_layout_mustache[] = {
#embed "../WebAssets/Console/layout.mustache"
};
static const unsigned char console_lease_rows_mustache[] = {
#embed "../WebAssets/Console/lease-rows.mustache"
};
static const unsigned char console_moment_mustache[] = {
#embed "../WebAssets/Console/moment.mustache"
};
static const unsigned char console_onward_mustache[] = {
#embed "../WebAssets/Console/onward.mustache"
};
static const unsigned char console_overview_mustache[] = {
#embed "../WebAssets/Console/overview.mustache"
};
static const unsigned char console_problem_mustache[] = {
#embed "../WebAssets/Console/problem.mustache"
};
static const unsigned char console_purge_mustache[] = {
#embed "../WebAssets/Console/purge.mustache"
};
static const unsigned char console_search_guide_mustache[] = {
#embed "../WebAssets/Console/search-guide.mustache"
};
static const unsigned char console_search_mustache[] = {
#embed "../WebAssets/Console/search.mustache"
};
static const unsigned char console_sign_in_mustache[] = {
#embed "../WebAssets/Console/sign-in.mustache"
};
static const unsigned char console_stale_rows_mustache[] = {
#embed "../WebAssets/Console/stale-rows.mustache"
};
static const unsigned char console_stale_mustache[] = {
#embed "../WebAssets/Console/stale.mustache"
};
static const unsigned char console_system_mustache[] = {
#embed "../WebAssets/Console/system.mustache"
};
static const unsigned char console_timeline_mustache[] = {
#embed "../WebAssets/Console/timeline.mustache"
};
static const unsigned char console_token_rows_mustache[] = {
#embed "../WebAssets/Console/token-rows.mustache"
};
static const unsigned char docs_docs_errors_mustache[] = {
#embed "../WebAssets/Docs/docs-errors.mustache"
};
static const unsigned char docs_docs_index_mustache[] = {
#embed "../WebAssets/Docs/docs-index.mustache"
};
static const unsigned char docs_docs_layout_mustache[] = {
#embed "../WebAssets/Docs/docs-layout.mustache"
};
static const unsigned char docs_docs_members_mustache[] = {
#embed "../WebAssets/Docs/docs-members.mustache"
};
static const unsigned char docs_docs_operations_mustache[] = {
#embed "../WebAssets/Docs/docs-operations.mustache"
};
static const unsigned char docs_docs_reference_mustache[] = {
#embed "../WebAssets/Docs/docs-reference.mustache"
};
static const unsigned char docs_docs_schemas_mustache[] = {
#embed "../WebAssets/Docs/docs-schemas.mustache"
};
static const unsigned char docs_docs_css[] = {
#embed "../WebAssets/Docs/docs.css"
};
static const unsigned char docs_docs_js[] = {
#embed "../WebAssets/Docs/docs.js"
};
static const unsigned char documentation_error_codes_md[] = {
#embed "../WebAssets/Documentation.docc/ErrorCodes.md"
};

#define ASSET(path, bytes) {path, bytes, sizeof bytes}

static const struct web_asset all[] = {
    ASSET("openapi.json", openapi_json),
    ASSET("Shared/base.css", shared_base_css),
    ASSET("Shared/icon.svg", shared_icon_svg),
    ASSET("Console/activity-rows.mustache", console_activity_rows_mustache),
    ASSET("Console/activity.mustache", console_activity_mustache),
    ASSET("Console/alias.mustache", console_alias_mustache),
    ASSET("Console/apps.mustache", console_apps_mustache),
    ASSET("Console/channels.mustache", console_channels_mustache),
    ASSET("Console/chart.mustache", console_chart_mustache),
    ASSET("Console/console.css", console_console_css),
    ASSET("Console/console.js", console_console_js),
    ASSET("Console/event-rows.mustache", console_event_rows_mustache),
    ASSET("Console/installation.mustache", console_installation_mustache),
    ASSET("Console/installations.mustache", console_installations_mustache),
    ASSET("Console/keys.mustache", console_keys_mustache),
    ASSET("Console/layout.mustache", console_layout_mustache),
    ASSET("Console/lease-rows.mustache", console_lease_rows_mustache),
    ASSET("Console/moment.mustache", console_moment_mustache),
    ASSET("Console/onward.mustache", console_onward_mustache),
    ASSET("Console/overview.mustache", console_overview_mustache),
    ASSET("Console/problem.mustache", console_problem_mustache),
    ASSET("Console/purge.mustache", console_purge_mustache),
    ASSET("Console/search-guide.mustache", console_search_guide_mustache),
    ASSET("Console/search.mustache", console_search_mustache),
    ASSET("Console/sign-in.mustache", console_sign_in_mustache),
    ASSET("Console/stale-rows.mustache", console_stale_rows_mustache),
    ASSET("Console/stale.mustache", console_stale_mustache),
    ASSET("Console/system.mustache", console_system_mustache),
    ASSET("Console/timeline.mustache", console_timeline_mustache),
    ASSET("Console/token-rows.mustache", console_token_rows_mustache),
    ASSET("Docs/docs-errors.mustache", docs_docs_errors_mustache),
    ASSET("Docs/docs-index.mustache", docs_docs_index_mustache),
    ASSET("Docs/docs-layout.mustache", docs_docs_layout_mustache),
    ASSET("Docs/docs-members.mustache", docs_docs_members_mustache),
    ASSET("Docs/docs-operations.mustache", docs_docs_operations_mustache),
    ASSET("Docs/docs-reference.mustache", docs_docs_reference_mustache),
    ASSET("Docs/docs-schemas.mustache", docs_docs_schemas_mustache),
    ASSET("Docs/docs.css", docs_docs_css),
    ASSET("Docs/docs.js", docs_docs_js),
    ASSET("Documentation.docc/ErrorCodes.md", documentation_error_codes_md),
};

const struct web_asset *_Nonnull const web_assets = all;
const size_t web_asset_count = sizeof all / sizeof all[0];
