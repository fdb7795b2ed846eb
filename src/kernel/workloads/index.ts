export { addClaimController } from "./claims/claim-controller.ts";
export { addCronJobController } from "./cronjobs/cron-job-controller.ts";
export { addDeploymentController } from "./deployments/deployment-controller.ts";
export { addJobController } from "./jobs/job-controller.ts";
export { addReplicaSetController } from "./replicasets/replica-set-controller.ts";
export { addNode } from "./nodes/keep-node.ts";
export { addPodRunner } from "./pods/add-pod-runner.ts";
export type { Node } from "./pods/pod-fields.ts";
export { createPodLogs } from "./pods/pod-logs.ts";
