"""Contract of import-linter: a module with a leading underscore is private to its package."""

from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No package imports a private module of another one.

    Packages are the children of the root, such as `cordwood.text`. Those whose own name begins
    with an underscore, such as `cordwood._base`, are private to the root, and shared by all.
    """

    type_name = "private_modules"

    def check(self, graph, verbose):
        """Find imports of `package._module` from outside the package."""
        (root,) = self.session_options["root_packages"]
        broken = sorted(
            (importer, imported)
            for imported in graph.modules
            if _is_private(imported, root)
            for importer in graph.find_modules_that_directly_import(imported)
            if _package(importer) != _package(imported)
        )
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check):
        """Print the imports."""
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports the private module {imported}")


def _is_private(module, root):
    parts = module.split(".")
    return parts[0] == root and any(part.startswith("_") for part in parts[2:])


def _package(module):
    return module.split(".")[:2]
