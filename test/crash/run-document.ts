// The run that is killed: fifty steps in ten layers, of every sort that has something to lose or to do twice, and a final one.

const layers = 10;
const width = 5;
const group = "slipway.dev/v1alpha1";

/** Which of its steps asks a person, which is carried out by a child Workflow, and which changes an object of all runs. */
export const gate = "s6-4";
const nested = "s4-3";
const applied = "s1-2";

/** A line for each child of these steps: a fan-out, a loop, one whose first attempt fails, a workflow of which the same is true. */
const linesOfStep: Readonly<Record<string, readonly string[]>> = {
  "s3-0": ["s3-0[0]#1", "s3-0[1]#1", "s3-0[2]#1"],
  "s5-1": ["s5-1~1#1", "s5-1~2#2"],
  "s8-2": ["s8-2#1", "s8-2#2"],
  [nested]: ["frail#1", "frail#2", "after#1"],
  [gate]: [],
  [applied]: [],
};

/** The main steps. */
export const keys: readonly string[] = Array.from(
  { length: layers * width },
  (_, at) => `s${Math.floor(at / width)}-${at % width}`,
);
export const final = "report";
/** What all children together write, a line each; that of the final step after everything else. */
export const expectedLines: readonly string[] = [
  ...keys.flatMap((key) => linesOfStep[key] ?? [`${key}#1`]),
  `${final}#1`,
];
/** How many lines there are before the last layer begins. */
export const linesBeforeEnd: number = expectedLines.length - width - 1;

/** Tells its name in the file and in its log, in which nothing else stands; two of them fail at their first attempt. */
const script = [
  'name="$SLIPWAY_STEP${SLIPWAY_INDEX:+[$SLIPWAY_INDEX]}${SLIPWAY_ITERATION:+~$SLIPWAY_ITERATION}#$SLIPWAY_ATTEMPT"',
  'echo "$name" | tee -a "$FILE"; echo "said=$name" >"$SLIPWAY_OUTPUT"; sleep 0.02',
  'test "$name" != "s8-2#1" && test "$name" != "frail#1"',
].join("; ");
const step = (more: object = {}, file = "${{ params.file }}") => ({
  container: { image: "busybox", command: ["sh", "-c", script], env: [{ name: "FILE", value: file }] },
  ...more,
});
const once = { retry: { limit: 1, initialSeconds: 0.1 } };
const said = { outputs: { said: {} } };

/** What the child Workflow is made from; to be there before the run. */
export const childTemplate: object = {
  apiVersion: group,
  kind: "WorkflowTemplate",
  metadata: { name: "frail" },
  spec: {
    params: [{ name: "file", required: true }],
    steps: { frail: step(once), after: step({ dependencies: ["frail"], ...said }) },
    outputs: { said: "steps.after.outputs.said" },
  },
};

const special = (approver: string): Readonly<Record<string, object>> => ({
  "s3-0": step({ forEach: { items: ["a", "b", "c"], maxParallel: 2 }, ...said }),
  "s5-1": step({ repeat: { until: "iteration == 2" } }),
  "s8-2": step({ ...once, ...said }),
  [nested]: { workflow: { templateRef: { name: "frail" }, arguments: { file: "${{ params.file }}" } } },
  [applied]: {
    operation: "Apply",
    template: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "last-run" },
      data: { name: "${{ workflow.name }}" },
    },
    outputs: { isOwn: { expression: "object.data.name == workflow.name" } },
  },
  [gate]: { approval: { message: "go on?", approvers: [{ kind: "User", name: approver }] } },
});

/** Its steps write to `file`; each depends on two of the layer before. `approver` is the user who may let it go on. */
export function runDocument(name: string, file: string, approver: string): object {
  const byName = keys.map((key, at): [string, object] => {
    const [layer, index] = [Math.floor(at / width), at % width];
    const before = layer === 0 ? [] : [`s${layer - 1}-${index}`, `s${layer - 1}-${(index + 1) % width}`];
    return [key, { ...(special(approver)[key] ?? step()), ...(layer === 0 ? {} : { dependencies: before }) }];
  });
  return {
    apiVersion: group,
    kind: "Workflow",
    metadata: { name },
    spec: {
      activeDeadlineSeconds: 300,
      params: [{ name: "file", required: true }],
      arguments: { file },
      steps: Object.fromEntries(byName),
      finally: { [final]: step() },
      outputs: {
        items: "steps['s3-0'].outputs.said",
        child: `steps['${nested}'].outputs.said`,
        retried: "steps['s8-2'].outputs.said",
        approvedBy: `steps['${gate}'].outputs.approvedBy`,
        applied: `steps['${applied}'].outputs.isOwn`,
      },
    },
  };
}

/** What it then ends with. */
export const expectedOutputs = (approver: string): object => ({
  items: ["s3-0[0]#1", "s3-0[1]#1", "s3-0[2]#1"],
  child: "after#1",
  retried: "s8-2#2",
  approvedBy: [approver],
  applied: true,
});
