export { act, type ActionAnswer, type ActionRequest, type ActedRun, lastSuspend } from "./act.ts";
export { admitted, guardStatus, isSameSpec } from "./admitted.ts";
export type { Agents, LocalAgent } from "./agents.ts";
export type { CacheExplanation, CacheQuestion, CachedResult, InputChange } from "./cached-result.ts";
export { layOut, pairsOf, tableOf, widthsOf } from "./columns.ts";
export type {
  ControllerParts,
  DialectOptions,
  DialectPort,
  LogOpener,
  ServerCondition,
  Templates,
} from "./controller-parts.ts";
export type {
  Admission,
  AdmissionServer,
  Admitted,
  CheckedDocument,
  Described,
  DescribeOptions,
  Dialect,
  DocumentReader,
  DocumentReading,
  LogPlace,
  Neighbours,
  Place,
  PreviewParts,
  ReadOptions,
  References,
  ReviewParts,
  RunCommands,
  RunPreviews,
  Runs,
  SourceDocument,
  Startable,
} from "./dialect.ts";
export type { DialectFace, ProjectRunOptions, Projects, ServerOptions, ServerOptionSources } from "./face.ts";
export { checkName, checkSchema, checkUnknown, codeOf, hintOf } from "./document-checks.ts";
export { documentReader, isOfGroup, kindOfDocument, schemaOf } from "./document-kind.ts";
export { fieldTokens, isWithin, parentOf } from "./field-tokens.ts";
export { type GraphNode, graphOfView, type RunGraph, type StepTraits } from "./graph.ts";
export { unknownKind } from "./kubernetes-kinds.ts";
export type { ListenChoice } from "./listening.ts";
export { type OpenedPort, openWhenNeeded } from "./needed-port.ts";
export { collectProblems, mostProblems, type ProblemCollector, type Report } from "./problems.ts";
export { RunAction } from "./run-action.ts";
export { actionsFor, answer, openActions, targetIn, targetIndex, targetKeys } from "./run-action-answer.ts";
export { type Shared, sharedOf } from "./shared.ts";
export type { Simulation } from "./simulation.ts";
export { readyRules, rolloutRules } from "./readiness-rules.ts";
export { sourceAt } from "./source.ts";
export type { StartParameter } from "./start-parameter.ts";
