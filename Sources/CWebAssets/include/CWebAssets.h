/// The files that browsers are sent, as bytes of the program.
#pragma once

#include <stddef.h>

/// A file that is part of the program.
struct web_asset {
    /// Its path below the folder `Sources/WebAssets`.
    const char *_Nonnull path;
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// All of them, in no order that means anything.
extern const struct web_asset *_Nonnull const web_assets;
extern const size_t web_asset_count;
