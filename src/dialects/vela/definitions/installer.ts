import { messageOf } from "#lib/base/index.ts";
import type { ControllerParts } from "#kernel/dialect/index.ts";
import { controllerFor, type Manager } from "#kernel/kit/index.ts";
import { Application, WorkflowRun } from "../kinds.ts";
import type { Settings } from "../settings.ts";
import type { DefinitionSources } from "./find.ts";
import { installShipped } from "./install.ts";

export interface InstallerParts {
  readonly manager: Manager;
  readonly settings: Settings;
  readonly sources: DefinitionSources;
}

/**
 * Installs the shipped definitions: at the start of a server that others may look at, else with the first application
 * or run, so that servers for a single document of another kind need not write them.
 */
export function addInstaller(parts: InstallerParts, { notes }: Pick<ControllerParts, "notes">): void {
  const { manager } = parts;
  let installed: Promise<void> | undefined;
  const install = (signal: AbortSignal): Promise<void> =>
    (installed ??= installAll(parts, signal).catch((thrown: unknown) => {
      installed = undefined;
      throw thrown;
    }));
  for (const kind of [Application, WorkflowRun]) {
    controllerFor(manager, `vela-installer-${kind.plural}`)
      .for(kind, { predicates: [({ type }) => type === "add" && installed === undefined] })
      .complete({ reconcile: (_request, { signal }) => install(signal) });
  }
  if (notes.length === 0) return;
  manager.add({
    name: "vela-installer",
    async run({ stop }) {
      // The first application tries again.
      await install(stop).catch((thrown: unknown) =>
        manager.log.warn("the shipped definitions were not installed", { error: messageOf(thrown) }),
      );
    },
  });
}

async function installAll({ manager, settings, sources }: InstallerParts, signal: AbortSignal): Promise<void> {
  const { client, clock, log } = manager;
  const { stored } = sources;
  const shipped = await sources.shipped();
  const { systemDefinitionNamespace: systemNamespace } = settings;
  const count = await installShipped(shipped, { client, clock, stored, systemNamespace, signal });
  if (count > 0) log.info("shipped definitions installed", { count, namespace: systemNamespace });
}
