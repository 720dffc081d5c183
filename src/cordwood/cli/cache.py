"""`cordwood cache`: show and clear the cached vectors of texts."""

from datetime import datetime

from cordwood._base.wording import count
from cordwood._user_dirs import CACHE_VARIABLE
from cordwood.cli.commands import Cache, CacheAction
from cordwood.cli.console import Console
from cordwood.encoders.embedding_cache import (
    MAX_BYTES,
    default_cache_dir,
    delete_cache,
    list_caches,
)
from cordwood.exceptions import CordwoodError


def cache(args: Cache) -> None:
    """Show the cached vectors of all encoders, or delete those of one or all."""
    console = Console(as_json=args.json)
    try:
        root = default_cache_dir()
    except RuntimeError:
        raise CordwoodError(
            f"there is no home directory; set {CACHE_VARIABLE} to the folder of the cache"
        ) from None
    found = list_caches(root)
    chosen = [info for info in found if args.name in (None, info.name)]
    if args.name is not None and not chosen:
        names = ", ".join(sorted({info.name for info in found})) or "none"
        raise CordwoodError(f"no vectors of encoder {args.name!r} are cached; cached are: {names}")
    n_bytes = sum(info.n_bytes for info in chosen)
    if args.action is CacheAction.CLEAR:
        kept = [info for info in chosen if not delete_cache(info.path)]
        if kept:
            raise CordwoodError(
                f"{kept[0].path} cannot be deleted; check its permissions, and whether another "
                "process uses it"
            )
        console.print_json({"folder": str(root), "deleted_bytes": n_bytes})
        n_vectors = sum(info.n_vectors for info in chosen)
        console.field("deleted", f"{count(n_vectors, 'vector')} ({n_bytes / 1e6:,.1f} MB)")
        return
    console.print_json(
        {
            "folder": str(root),
            "max_bytes": MAX_BYTES,
            "caches": [
                {
                    "encoder": info.name,
                    "fingerprint": info.fingerprint,
                    "max_tokens": info.max_tokens,
                    "dimension": info.dimension,
                    "n_vectors": info.n_vectors,
                    "bytes": info.n_bytes,
                    "last_used": datetime.fromtimestamp(info.used).isoformat(timespec="seconds"),
                }
                for info in chosen
            ],
        }
    )
    console.field("folder", str(root))
    console.field("size", f"{n_bytes / 1e6:,.1f} MB of at most {MAX_BYTES / 1e6:,.0f} MB")
    if chosen:
        console.print()
        console.table(
            ("encoder", "max tokens", "vectors", "MB", "last used"),
            [
                (
                    info.name,
                    info.max_tokens,
                    info.n_vectors,
                    f"{info.n_bytes / 1e6:,.1f}",
                    datetime.fromtimestamp(info.used).strftime("%Y-%m-%d %H:%M"),
                )
                for info in chosen
            ],
        )
        console.print()
        console.print("Delete all: cordwood cache clear")
