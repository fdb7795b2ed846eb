import type { ControllerParts } from "#kernel/dialect/index.ts";
import { controllerFor, createHttpClient, type Manager } from "#kernel/kit/index.ts";
import { keyOf, splitKey } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { addApplicationController, type ControllerServices } from "./application-controller.ts";
import { ClusterConnections } from "./delivery/cluster-connections.ts";
import { chartRenderer } from "./render/charts.ts";
import { keptAnswers } from "./render/processing.ts";
import { StepPrinter } from "./logs/step-logs.ts";
import { providers } from "./ops/index.ts";
import { useCaseProviders } from "./ops/usecases.ts";
import { addRunController } from "./run-controller.ts";
import { EgressRules, processCourier } from "#kernel/couriers/index.ts";
import type { Definitions } from "./definitions/definition.ts";
import { type DefinitionSources, definitionsOf, mirroredSources } from "./definitions/find.ts";
import { addInstaller } from "./definitions/installer.ts";
import { revisionKeeper } from "./definitions/revisions.ts";
import { definitionTypes, typeFacts } from "./definitions/types.ts";
import { addInsightController } from "./insights/insight-controller.ts";
import { addSecurityController } from "./insights/security.ts";
import { DefinitionRevision, Package } from "./kinds.ts";
import { library, openCue } from "./library.ts";
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
  addDeliveryControllers(vela, parts);
  addInsightController(manager);
  addSecurityController(manager);
}

/** What delivers applications and runs workflows. */
function addDeliveryControllers(vela: VelaParts, parts: ControllerParts<VelaOptions>): void {
  const { manager, settings } = vela;
  const { client, clock, log, random } = manager;
  const { templates, directory, environment = {} } = parts;
  const clusters = new ClusterConnections({
    client,
    systemNamespace: settings.systemDefinitionNamespace,
    connect: (connection) =>
      createHttpClient({ connection, clock, log, random, userAgent: `slipway/${parts.version}` }),
  });
  const printer = new StepPrinter(directory, clock);
  manager.onStopped(() => {
    void printer.close();
    void clusters.close();
  });
  const useCases = {
    templates,
    directory: `${directory}/sources`,
    environment,
    localRoots: settings.localRoots,
    allowExec: settings.allowExec,
    egress: new EgressRules(settings.egressDeny),
  };
  const delivery: ControllerServices = {
    ...vela,
    providers: { ...providers, ...useCaseProviders(useCases) },
    charts: chartRenderer(useCases),
    answers: keptAnswers(settings.egressDeny, clock),
    courier: processCourier({ directory: `${directory}/couriers`, denied: settings.egressDeny, clock }),
    clustersFor: (acting) => clusters.forApplication(acting),
    printer,
  };
  addApplicationController(manager, delivery);
  addRunController(manager, delivery);
}

function addDefinitionControllers({ manager, settings, cue, definitions }: VelaParts): void {
  const revisions = manager.mirror<DefinitionRevision>(DefinitionRevision);
  for (const type of definitionTypes) {
    const { kind } = typeFacts[type];
    const mirror = manager.mirror(kind);
    controllerFor(manager, `vela-${type}-definition`)
      .for(kind)
      // What a Package adds or takes away may make other definitions right or wrong.
      .watches(Package, () => mirror.list().map(({ metadata }) => splitKey(keyOf(metadata))))
      .complete(
        revisionKeeper(type, {
          client: manager.client,
          definitions: mirror,
          revisions,
          limit: settings.definitionRevisionLimit,
          cue,
          complete: definitions.complete,
        }),
      );
  }
}
