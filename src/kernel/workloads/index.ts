export { addJobController } from "./jobs/job-controller.ts";
export { addPodRunner, type PodRunnerOptions } from "./pods/add-pod-runner.ts";
export type { Node } from "./pods/pod-fields.ts";
export { createPodLogs, type PodLogRequest, type PodLogs, type PodLogsOptions } from "./pods/pod-logs.ts";
