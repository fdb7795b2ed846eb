import { controllerFor, type Manager, regardingOf, requestChannel } from "#kernel/kit/index.ts";
import { keyOf, type KubeObject, type Notice, splitKey, type Stored } from "#kernel/model/index.ts";
import { RunAction, targetIn, targetIndex, targetKeys } from "#kernel/dialect/index.ts";
import type { DefinitionType } from "./definitions/definition.ts";
import { definitionTypes, splitRevision, typeFacts } from "./definitions/types.ts";
import { Application, DefinitionRevision, Package, Policy, Workflow, WorkloadDefinition } from "./kinds.ts";
import type { StepPrinter } from "./logs/step-logs.ts";
import { applicationReconciler } from "./reconcile.ts";
import type { Services } from "./reconcile/parts.ts";
import type { Settings } from "./settings.ts";
import { stepsOf } from "./view.ts";
import { WatchedObjects } from "./watched-objects.ts";

/** What a manager does not have. */
export interface ControllerServices extends Omit<Services, "client" | "actors" | "clock" | "actions"> {
  readonly printer: StepPrinter;
}

/** Enough for every step of a long workflow. */
const eventBudget = { perSecond: 10, burst: 1_000 };

/** Notices that are told once by a process, beyond which the oldest are told again. */
const mostTold = 10_000;

/**
 * Adds the controller of applications. One is reconciled when it, a RunAction for it, an object that it applied, or
 * something that it refers to changes, when a timer is due, and from time to time.
 */
export function addApplicationController(manager: Manager, { printer, ...services }: ControllerServices): void {
  const { client, clock } = manager;
  const { settings } = services;
  const applications = manager.mirror<Application>(Application);
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const news = requestChannel();
  const woken = new Set<string>();
  const watched = new WatchedObjects(manager, (key) => {
    woken.add(key);
    news.send(splitKey(key));
  });
  const own = new Map<string, string>();
  const recorder = manager.recorder({
    controller: "slipway.dev/vela-controller",
    instance: "slipway",
    perObject: eventBudget,
  });
  const record = (application: Stored<Application>, notice: Notice): void =>
    recorder.record({ ...notice, regarding: regardingOf(application) });
  const told = new Set<string>();
  const reconciler = applicationReconciler({
    ...services,
    client,
    actors: manager,
    clock,
    actions,
    follow: (application, objects) => watched.follow(keyOf(application.metadata), objects),
    takeWoken: (key) => woken.delete(key),
    forget(key) {
      watched.forget(key);
      woken.delete(key);
      own.delete(key);
    },
    release: ({ metadata }) => printer.remove(metadata.uid),
    written: ({ metadata }) => void own.set(keyOf(metadata), metadata.resourceVersion),
    record,
    recordOnce(application, notice) {
      const id = `${application.metadata.uid} ${notice.note}`;
      if (told.has(id)) return;
      if (told.size >= mostTold) told.clear();
      told.add(id);
      record(application, notice);
    },
    print: ({ metadata }, step, line) => printer.print(metadata.uid, step, line),
  });
  const usersOf = (isUser: (application: Stored<Application>) => boolean) =>
    applications.list().filter(isUser).map(requestOf);
  let builder = controllerFor(manager, "vela-application")
    .for<Application>(Application, {
      // Own writes were acted on already.
      predicates: [
        ({ type, object, old }) =>
          type !== "update" || old === object || own.get(keyOf(object.metadata)) !== object.metadata.resourceVersion,
      ],
    })
    .watches<RunAction>(RunAction, (action) => targetIn(action, Application).map(splitKey))
    .watches<Workflow>(Workflow, (workflow) =>
      usersOf((one) => isBeside(one, workflow) && one.spec.workflow?.ref === workflow.metadata.name),
    )
    .watches<Policy>(Policy, (policy) => usersOf((one) => isBeside(one, policy) && namesPolicy(one, policy)))
    .watches<Package>(Package, (one) => usersOf((application) => isSeen(application, one, settings)), specChanged)
    .watchesChannel(news);
  const usersOfType = (type: DefinitionType, definition: KubeObject, name: string) =>
    usersOf((one) => isSeen(one, definition, settings) && isUsed(one, type, name));
  for (const type of definitionTypes)
    builder = builder.watches(typeFacts[type].kind, (one) => usersOfType(type, one, one.metadata.name), specChanged);
  builder
    .watches(WorkloadDefinition, (one) => usersOfType("component", one, one.metadata.name), specChanged)
    .watches<DefinitionRevision>(DefinitionRevision, (one) =>
      definitionTypes.flatMap((type) => usersOfType(type, one, revisionType(one))),
    )
    .with({ maxConcurrent: 64 })
    .complete(reconciler);
  manager.onStopped(() => watched.close());
}

const requestOf = ({ metadata: { namespace = "", name } }: Stored) => ({ namespace, name });

/** A status of a definition changes nothing. */
const specChanged = {
  predicates: [
    ({ type, object, old }: { readonly type: string; readonly object: Stored; readonly old?: Stored }) =>
      type !== "update" || old?.metadata.generation !== object.metadata.generation,
  ],
};

const isBeside = (one: KubeObject, other: KubeObject): boolean => one.metadata.namespace === other.metadata.namespace;

/** Definitions of the application's namespace and of the system's are seen by it. */
const isSeen = (one: KubeObject, definition: KubeObject, { systemDefinitionNamespace }: Settings): boolean =>
  isBeside(one, definition) || definition.metadata.namespace === systemDefinitionNamespace;

const namesPolicy = (one: Stored<Application>, { metadata: { name } }: KubeObject): boolean =>
  stepsOf(one).some(({ properties: { policies } }) => Array.isArray(policies) && policies.includes(name ?? ""));

/** `name-v3` is what `name@v3` refers to. */
const revisionType = ({ metadata: { name = "" } }: KubeObject): string => name.replace(/-v(\d+)$/, "@v$1");

function isUsed({ spec }: Stored<Application>, type: DefinitionType, name: string): boolean {
  const isNamed = (used: string | undefined): boolean => used !== undefined && (used === name || nameIn(used) === name);
  switch (type) {
    case "component":
      return (spec.components ?? []).some((one) => isNamed(one.type));
    case "trait":
      return (spec.components ?? []).some(({ traits = [] }) => traits.some((trait) => isNamed(trait.type)));
    case "policy":
      return (spec.policies ?? []).some((policy) => isNamed(policy.type));
    case "workflow-step":
      return (
        spec.workflow?.ref !== undefined ||
        (spec.workflow?.steps ?? []).some((step) => [step, ...(step.subSteps ?? [])].some((one) => isNamed(one.type)))
      );
  }
}

/** A revision keeps what it had, but the first version of a definition may come later than its revision. */
const nameIn = (used: string): string => splitRevision(used).name;
