export { serveClusterUi } from "./cluster-ui.ts";
export { clusterDefinitions, type ClusterOptions, serveCluster } from "./cluster.ts";
export {
  type CredentialRequest,
  expectNoFile,
  issueCertificate,
  type IssuedCredential,
  issueToken,
  writeCredential,
} from "./credentials.ts";
export { type EphemeralControlPlane, type EphemeralOptions, startEphemeral } from "./ephemeral.ts";
export { type RunningServer, serve, type ServeOptions, type ServerFailure } from "./serve.ts";
export { openLog } from "./open-log.ts";
export { runnerPath } from "./program-paths.ts";
export { openTemplates } from "./templates.ts";
export type { UiDoor } from "./ui-door.ts";
export { type Backup, backup, type Check, check, exportAll, restore } from "./store-care.ts";
