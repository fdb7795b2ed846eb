import { isJsonObject, ok, recover, type Result } from "#lib/base/index.ts";
import { type ApiClient } from "#kernel/kit/index.ts";
import {
  apiVersionOf,
  controllerReference,
  isAlreadyExists,
  type KubeObject,
  type Stored,
} from "#kernel/model/index.ts";
import { childName, labels } from "../child-names.ts";
import { render } from "../compile/values.ts";
import { stateOfObject } from "../completion.ts";
import { Workflow } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import {
  childIn,
  childOf,
  createChild,
  failed,
  labelsOf,
  observeChild,
  plannedReference,
  type StepClients,
} from "./child.ts";
import type { Attempt, StepExecutor } from "./executor.ts";
import { filled, type FindMirror, stateOf, unwatched } from "./template.ts";

/** Nesting limit against endless recursion. */
const deepest = 10;

/** Executes `workflow` steps: a child Workflow per attempt. Suspension is not inherited. */
export function workflowExecutor(clients: StepClients, find: FindMirror): StepExecutor {
  const mirrorOf = (attempt: Attempt) => find(apiVersionOf(Workflow), Workflow.kind, attempt);
  return {
    reference: (attempt) => plannedReference(Workflow, childName(childOf(attempt))),
    async start(attempt, signal) {
      const depth = depthOf(attempt.workflow) + 1;
      if (depth > deepest) return failed("TooDeep", `workflows are nested at most ${deepest} deep`);
      const mirror = await mirrorOf(attempt);
      if (filled(mirror) === undefined) return unwatched(mirror);
      return await createChild(clients, Workflow, renderWorkflow(attempt), attempt, signal);
    },
    async observe(attempt, signal) {
      const mirror = filled(await mirrorOf(attempt));
      if (mirror === undefined) return undefined;
      return await observeChild(clients.client, mirror, attempt, signal, (object) =>
        Promise.resolve(stateOf(attempt, object)),
      );
    },
    async cancel(attempt, _graceMs, signal) {
      const mirror = filled(await mirrorOf(attempt));
      const child = mirror && childIn(mirror, attempt);
      if (child === undefined || stateOfObject(child).is !== "running") return;
      await askToEnd(clients.client, child, attempt.workflow.status?.forced === true, signal);
    },
  };
}

/** 0 for a workflow that no step created. */
const depthOf = ({ metadata }: Stored): number => Number(metadata.labels?.[labels.depth] ?? 0) || 0;

/** Only arguments are rendered here. */
export function renderWorkflow(attempt: Attempt): Result<KubeObject, string> {
  const { step, workflow, compiled, values } = attempt;
  const { templateRef, spec = { templateRef } } = step.step.workflow ?? {};
  const given = step.body === undefined ? ok({}) : render(step.body, compiled, values);
  if (!given.ok) return given;
  const { namespace } = workflow.metadata;
  const name = childName(childOf(attempt));
  const hasArguments = isJsonObject(given.value) && Object.keys(given.value).length > 0;
  return ok({
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labelsOf(attempt), [labels.depth]: String(depthOf(workflow) + 1) },
    },
    spec: { ...spec, ...(hasArguments ? { arguments: given.value } : {}) },
  });
}

/** Cancels the child by a RunAction with a fixed name, so that repetition is harmless. */
async function askToEnd(client: ApiClient, child: Stored, force: boolean, signal: AbortSignal): Promise<void> {
  const { apiVersion, kind, metadata } = child;
  const { name, namespace, uid } = metadata;
  const action: KubeObject = {
    apiVersion: apiVersionOf(RunAction),
    kind: RunAction.kind,
    metadata: {
      name: `${name}-${force ? "force-" : ""}cancel`,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [controllerReference(child)],
    },
    spec: { target: { apiVersion, kind, name, uid }, action: "cancel", ...(force ? { force } : {}) },
  };
  await client.create(RunAction, action, { signal }).catch(recover(isAlreadyExists, undefined));
}
