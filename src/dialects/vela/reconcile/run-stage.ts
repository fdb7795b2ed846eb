import { defined, jsonEquals } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { App, VelaWorkflow } from "../app.ts";
import type { Definitions } from "../definitions/definition.ts";
import { evaluateServices } from "../delivery/services.ts";
import { VelaDelivery } from "../delivery/vela-delivery.ts";
import type { ApplicationStatus } from "../kinds.ts";
import { keepsDebugValues, writeDebugValue } from "../workflow/debug-values.ts";
import type { PassParts } from "../workflow/parts.ts";
import { type PassResult, runPass } from "../workflow/pass.ts";
import type { WorkflowStatus } from "../workflow/status.ts";
import { type ApplicationPhase, notReady, pending, succeeded, withPhase } from "./conditions.ts";
import type { Pass, Services, Tools } from "./parts.ts";

export interface ToolsRequest {
  readonly app: App;
  readonly definitions: Definitions;
  /** Empty for a WorkflowRun. */
  readonly revisionHash: string;
  readonly acting: ApiClient;
  /** Names the present run of the workflow, once it has begun. */
  readonly run?: () => string | undefined;
}

/** Of a pass over an application or a run, which has the rights of whom it acts for elsewhere. */
type PassServices = Omit<Services, "actors" | "actions"> & Pick<Pass, "log" | "signal">;

export const toolsOf = (pass: Pass, request: ToolsRequest): Tools =>
  toolsFor(pass, { ...request, run: () => pass.store.status.workflow?.startTime });

export function toolsFor(services: PassServices, { acting, ...request }: ToolsRequest): Tools {
  const { client: own, clock, cue, settings, charts, answers, signal } = services;
  const clusters = services.clustersFor(acting);
  const delivery = new VelaDelivery({
    ...request,
    client: acting,
    own,
    clusters,
    cue,
    clock,
    systemNamespace: settings.systemDefinitionNamespace,
    allowCrossNamespace: settings.allowCrossNamespace,
    ...defined({ charts, answers }),
    signal,
  });
  return { app: request.app, acting, clusters, definitions: request.definitions, delivery };
}

/** What the steps of `owner` are executed with. */
export function stepParts(
  services: PassServices,
  { app, acting: actingClient, clusters, definitions, delivery }: Tools,
  owner: Stored,
  print: (step: string, line: string) => void,
): PassParts {
  const { client, clock, cue, courier, log, providers, settings, signal } = services;
  const debug = (step: string, text: string) => writeDebugValue({ client, owner, clock, signal }, step, text);
  const shared = { client, clock, cue, courier, log, providers, settings, signal };
  return {
    ...shared,
    actingClient,
    clusters,
    definitions,
    delivery,
    print,
    ...(keepsDebugValues(app) ? { debug } : {}),
  };
}

export interface RunStage {
  readonly stage?: "pre-render";
  readonly isWoken: boolean;
  /** Of the ConfigMap of rendered objects. */
  readonly resources?: string;
}

/** Moves the workflow on. Each transition is one write of the application's status. */
export function runStage(pass: Pass, tools: Tools, { stage, isWoken, resources }: RunStage): Promise<PassResult> {
  const { store } = pass;
  const { app, delivery } = tools;
  let preRendered: string | undefined;
  const parts = {
    ...stepParts(pass, tools, store.application, (step, line) => pass.print(store.application, step, line)),
    noteOverlay: (digest: string) => {
      preRendered = digest;
    },
  };
  return runPass(parts, {
    subject: { app, owner: store.application, ...defined({ resources }) },
    status: store.status.workflow,
    isWoken,
    ...defined({ stage }),
    store: async (workflow) => {
      const moved = withWorkflow(pass, app.workflow, workflow);
      const status = preRendered === undefined ? moved : { ...moved, preRendered };
      // Objects that steps have applied so far are shown with the step that applied them.
      await store.put(stage === undefined ? await withServices(status, delivery) : status);
    },
  });
}

/** The status with the workflow's, its phase and its condition. */
function withWorkflow(pass: Pass, { modes }: VelaWorkflow, workflow: WorkflowStatus): ApplicationStatus {
  const { status } = pass.store;
  const { appRevision } = status.workflow ?? {};
  const now = pass.clock.now();
  const mode = `${modes.steps}-${modes.subSteps}`;
  const next: ApplicationStatus = {
    ...status,
    workflow: {
      ...workflow,
      mode,
      ...defined({ appRevision }),
    },
  };
  const phased = withPhase(next, phaseOf(workflow, status));
  if (workflow.finished !== true) return pending(phased, "Workflow", "Creating", now);
  if (workflow.status === "succeeded" || workflow.status === "skipped") return succeeded(phased, "Workflow", now);
  const message = workflow.message ?? "";
  return notReady(phased, "Workflow", message, now);
}

/** Health decides the phase after success. */
function phaseOf({ finished, status, suspend }: WorkflowStatus, before: ApplicationStatus): ApplicationPhase {
  if (finished !== true) return suspend === true ? "workflowSuspending" : "runningWorkflow";
  if (status === "terminated") return "workflowTerminated";
  if (status === "failed") return "workflowFailed";
  return before.status === "running" || before.status === "unhealthy" ? before.status : "runningWorkflow";
}

/** Unchanged parts stay the same objects, so that nothing is written without need. */
export async function withServices(status: ApplicationStatus, delivery: VelaDelivery): Promise<ApplicationStatus> {
  const { services, appliedResources } = await evaluateServices(delivery);
  const seen = { services, appliedResources } as unknown as Pick<ApplicationStatus, "services" | "appliedResources">;
  if (services.length === 0 && appliedResources.length === 0 && status.appliedResources === undefined) return status;
  const isSame = jsonEquals(status.services, services) && jsonEquals(status.appliedResources, appliedResources);
  return isSame ? status : { ...status, ...seen };
}
