import type { ControllerParts } from "#kernel/dialect/index.ts";
import { type ApiClient, controllerFor, type Manager } from "#kernel/kit/index.ts";
import { type Cue, createCue } from "#kernel/template/index.ts";
import { err, type Millis, ok } from "#lib/base/index.ts";
import { addApplicationController } from "./application-controller.ts";
import type { Clusters } from "./delivery/delivery.ts";
import { StepPrinter } from "./logs/step-logs.ts";
import { providers } from "./ops/index.ts";
import type { Courier } from "./workflow/courier.ts";
import type { Definitions } from "./definitions/definition.ts";
import { type DefinitionSources, definitionsOf, mirroredSources } from "./definitions/find.ts";
import { addInstaller } from "./definitions/installer.ts";
import { revisionKeeper } from "./definitions/revisions.ts";
import { definitionTypes, typeFacts } from "./definitions/types.ts";
import { DefinitionRevision } from "./kinds.ts";
import { library } from "./library.ts";
import type { VelaOptions } from "./options.ts";
import { completeSettings, type Settings } from "./settings.ts";

/** What all controllers of the dialect share. */
export interface VelaParts {
  readonly manager: Manager;
  readonly settings: Settings;
  readonly cue: Cue;
  readonly definitions: Definitions;
  readonly sources: DefinitionSources;
}

/** CUE with the packages of the dialect. */
export const openCue = (templates: Pick<ControllerParts["templates"], "ask">, budgetMs?: Millis): Cue =>
  createCue({ templates, packages: library.packages, ...(budgetMs === undefined ? {} : { budgetMs }) });

/** Adds the dialect's controllers to a manager that has not started. */
export function addControllers(manager: Manager, parts: ControllerParts<VelaOptions>): void {
  const settings = completeSettings(parts.options?.settings);
  const sources = mirroredSources(manager, {
    shipped: library.definitions,
    systemNamespace: settings.systemDefinitionNamespace,
  });
  const cue = openCue(parts.templates, settings.cueEvalTimeout);
  const vela: VelaParts = { manager, settings, cue, sources, definitions: definitionsOf(sources) };
  addDefinitionControllers(vela);
  addInstaller(vela, parts);
  const printer = new StepPrinter(parts.directory, manager.clock);
  manager.onStopped(() => void printer.close());
  addApplicationController(manager, {
    ...vela,
    providers,
    courier: noCourier,
    clustersFor: localOnly,
    printer,
  });
}

const localOnly = (acting: ApiClient): Clusters => ({
  client: async (cluster) => (cluster === "local" ? ok(acting) : err(`failed to get cluster ${cluster}`)),
  list: async () => [],
});
const noCourier: Courier = {
  place: async () => "none",
  deliver: async () => ({ kind: "unknown" }),
  outcome: async () => ({ kind: "unknown" }),
  forget: async () => undefined,
};

function addDefinitionControllers({ manager, settings, cue }: VelaParts): void {
  const revisions = manager.mirror<DefinitionRevision>(DefinitionRevision);
  for (const type of definitionTypes) {
    const { kind } = typeFacts[type];
    controllerFor(manager, `vela-${type}-definition`)
      .for(kind)
      .complete(
        revisionKeeper(type, {
          client: manager.client,
          definitions: manager.mirror(kind),
          revisions,
          limit: settings.definitionRevisionLimit,
          cue,
        }),
      );
  }
}
