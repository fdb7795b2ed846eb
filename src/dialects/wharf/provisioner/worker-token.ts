import { createHmac } from "node:crypto";

/** A worker's own token, derived from the provisioner's token and its uid: workers never learn the services' token, and
 * one worker's token opens no other. */
export const workerTokenOf = (provisionerToken: string, uid: string): string =>
  createHmac("sha256", provisionerToken).update(`wharf worker ${uid}`).digest("hex");
