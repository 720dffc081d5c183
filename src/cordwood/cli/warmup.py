"""`cordwood warmup`: compile all kernels in advance."""

import time

from cordwood._base.wording import count
from cordwood._warmup import warmup as compile_kernels
from cordwood.cli.commands import Warmup
from cordwood.cli.console import Console
from cordwood.exceptions import CordwoodError


def warmup(args: Warmup) -> None:
    """Compile all kernels and show where they are cached."""
    console = Console(as_json=args.json, quiet=args.quiet)
    start = time.perf_counter()
    with console.progress("compiling kernels") as progress:
        cache_dir = compile_kernels(progress)
    if cache_dir is None:
        raise CordwoodError(
            "no writable directory was found for the compiled kernels; set NUMBA_CACHE_DIR to one"
        )
    seconds = time.perf_counter() - start
    files = list(cache_dir.glob("*.kernel"))
    n_bytes = sum(path.stat().st_size for path in files)
    console.field("kernels", f"{count(len(files), 'file')}, {n_bytes / 1e6:.1f} MB")
    console.field("cache", str(cache_dir))
    console.field("seconds", f"{seconds:.1f}")
    console.print_json(
        {
            "n_files": len(files),
            "n_bytes": n_bytes,
            "cache_dir": str(cache_dir),
            "seconds": round(seconds, 3),
        }
    )
