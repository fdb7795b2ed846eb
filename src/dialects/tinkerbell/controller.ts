import { controllerFor, type Manager, regardingOf } from "#kernel/kit/index.ts";
import { type KubeObject, keyOf, splitKey } from "#kernel/model/index.ts";
import { RunAction, targetIn, targetIndex, targetKeys } from "#kernel/dialect/index.ts";
import { referencesOf } from "./references.ts";
import { Hardware, Template, Workflow } from "./kinds.ts";
import { countWorkflows } from "./metrics.ts";
import type { Renderer } from "./reconcile/prepare.ts";
import { workflowReconciler } from "./reconcile.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import type { AnyWorkflow } from "./stored.ts";
import { templateReconciler } from "./reconcile/template-state.ts";
import type { Instant, Random } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Shape } from "./state.ts";

export interface ControllerOptions {
  readonly renderer: Renderer;
  readonly settings?: Partial<Settings>;
}

const templateIndex = "template";
const hardwareIndex = "hardware";

/** Adds the controller to a manager that has not started. Workflows are also reconciled every ten minutes. */
export function addController(manager: Manager, { renderer, settings = {} }: ControllerOptions): void {
  const { client, clock } = manager;
  const recorder = manager.recorder({ controller: "slipway.dev/tinkerbell-controller", instance: "slipway" });
  const workflows = manager.mirror<AnyWorkflow>(Workflow);
  const keyIn = ({ metadata }: KubeObject, name: string): readonly string[] =>
    name === "" ? [] : [`${metadata.namespace ?? ""}/${name}`];
  workflows.addIndex(templateIndex, (workflow) => keyIn(workflow, referencesOf(workflow).template));
  workflows.addIndex(hardwareIndex, (workflow) => keyIn(workflow, referencesOf(workflow).hardware));
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const usersOf = (index: string) => (object: KubeObject) =>
    workflows
      .byIndex(index, keyOf(object.metadata))
      .map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
  controllerFor(manager, "tinkerbell-workflow")
    .for<AnyWorkflow>(Workflow, { resyncEvery: 600_000 })
    .watches(Template, usersOf(templateIndex))
    .watches(Hardware, usersOf(hardwareIndex))
    .watches<RunAction>(RunAction, (action) => targetIn(action, Workflow).map(splitKey))
    .with({ maxConcurrent: 32 })
    .complete(
      workflowReconciler({
        client,
        clock,
        settings: { ...defaultSettings, ...settings },
        renderer,
        actions,
        workflows,
        newId: newIdOf(manager.random),
        record: (workflow, { type, reason, message }) =>
          recorder.record({ type, reason, action: "Reconcile", note: message, regarding: regardingOf(workflow) }),
      }),
    );
  manager.onStopped(countWorkflows(manager.metrics, workflows, clock));
  controllerFor(manager, "tinkerbell-template")
    .for(Template)
    .with({ maxConcurrent: 4 })
    .complete(templateReconciler({ client, renderer }));
}

/** Crockford's base 32. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function inBase32(value: number, digits: number): string {
  let [text, rest] = ["", value];
  for (let at = 0; at < digits; at++) {
    text = (alphabet[rest % 32] ?? "") + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** A ULID: 48 bits of time and 80 random bits. Released documents use it for actions and tasks. */
function ulid(now: Instant, random: Random): string {
  const chance = (): string => inBase32(Math.floor(random() * 2 ** 40), 8);
  return inBase32(now, 10) + chance() + chance();
}

/** New ids of actions, in the form of each shape. Unique within a workflow. */
const newIdOf =
  (random: Random) =>
  (shape: Shape, now: Instant): string =>
    shape === "A" ? ulid(now, random) : newUid();
