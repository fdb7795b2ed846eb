export { serveAgent } from "./agent.ts";
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
export { openTemplates } from "./templates.ts";
export { type Backup, backup, type Check, check, exportAll, restore } from "./store-care.ts";
