export {
  type Document,
  objectsOf,
  type ReadDocuments,
  readDocuments,
  readTexts,
  runsIn,
} from "./documents.ts";
export type { InnerRun } from "./inner-logs.ts";
export { logName, type StepLog } from "./pod-logs.ts";
export {
  childrenOf,
  controlledBy,
  describedOf,
  dialectOf,
  isRunOf,
  neighboursOf,
  readIfVisible,
  viewOf,
} from "./run.ts";
export { listRunPods, podScopeOf, type PodScope, watchRunPods } from "./run-pods.ts";
export { harmless, lastTails, openStepLog, readStepLog, stepLogs, type StepTail } from "./step-logs.ts";
export { previewProblems, previewsText, runPreviews } from "./run-previews.ts";
