// Dialects need `checkJobSpec` only; the rest is for the API server.
export { checkJobSpec, type JobSpecFindings } from "./check-job-spec.ts";
export * from "./definitions.ts";
export * from "./findings.ts";
export { withJobSpecDefaults } from "./job-defaults.ts";
export { checkJobRules } from "./job-rules.ts";
export { qosClassOf, withPodSpecDefaults, withPortsOfHost, withRequestsOfLimits } from "./pod-defaults.ts";
export { checkPodSpec, checkTemplateMetadata } from "./pod-rules.ts";
export { checkLabelMap, isAddress } from "./placement-rules.ts";
export * from "./read.ts";
export { countIndexes } from "./index-list.ts";
