export { addJobController } from "./jobs/job-controller.ts";
export { addPodRunner } from "./pods/add-pod-runner.ts";
export type { Node } from "./pods/pod-fields.ts";
export { createPodLogs } from "./pods/pod-logs.ts";
