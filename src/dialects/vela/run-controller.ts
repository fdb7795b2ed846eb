import { controllerFor, type Manager, regardingOf } from "#kernel/kit/index.ts";
import { keyOf, splitKey } from "#kernel/model/index.ts";
import { RunAction, targetIn, targetIndex, targetKeys } from "#kernel/dialect/index.ts";
import type { ControllerServices } from "./application-controller.ts";
import { Workflow, WorkflowRun, WorkflowStepDefinition } from "./kinds.ts";
import { workflowNotices } from "./notices.ts";
import { runReconciler } from "./workflow/run-controller.ts";

/** Enough for every step of a long workflow. */
const eventBudget = { perSecond: 10, burst: 1_000 };

/** Adds the controller of WorkflowRuns to a manager that has not started. */
export function addRunController(manager: Manager, { printer, ...services }: ControllerServices): void {
  const { client, clock } = manager;
  const runs = manager.mirror<WorkflowRun>(WorkflowRun);
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const own = new Map<string, string>();
  const recorder = manager.recorder({
    controller: "slipway.dev/vela-controller",
    instance: "slipway",
    perObject: eventBudget,
  });
  const waiting = () =>
    runs
      .list()
      .filter(({ status }) => status?.startTime === undefined)
      .map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
  controllerFor(manager, "vela-workflow-run")
    .for<WorkflowRun>(WorkflowRun, {
      // Own writes were acted on already.
      predicates: [
        ({ type, object, old }) => {
          const key = keyOf(object.metadata);
          if (type === "delete") {
            own.delete(key);
            void printer.remove(object.metadata.uid);
          }
          return type !== "update" || old === object || own.get(key) !== object.metadata.resourceVersion;
        },
      ],
      resyncEvery: services.settings.resync,
    })
    .watches<RunAction>(RunAction, (action) => targetIn(action, WorkflowRun).map(splitKey))
    .watches(Workflow, waiting)
    .watches(WorkflowStepDefinition, waiting, { predicates: [({ type }) => type !== "delete"] })
    .with({ maxConcurrent: 64 })
    .complete(
      runReconciler({
        ...services,
        client,
        clock,
        actors: manager,
        actions,
        record: (run, notice) => recorder.record({ ...notice, regarding: regardingOf(run) }),
        written(run, before) {
          own.set(keyOf(run.metadata), run.metadata.resourceVersion);
          for (const notice of workflowNotices(before, run.status))
            recorder.record({ ...notice, regarding: regardingOf(run) });
        },
        print: ({ metadata }, step, line) => printer.print(metadata.uid, step, line),
      }),
    );
}
