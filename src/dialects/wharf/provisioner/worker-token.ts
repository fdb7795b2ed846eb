import { createHmac } from "node:crypto";

/**
 * What a worker asks of everybody, where its provisioner asks for a token: one of its own, which whoever knows the provisioner's can tell from its
 * uid, also in another process. A worker never learns the token of the services, and one worker's opens no other.
 */
export const workerTokenOf = (provisionerToken: string, uid: string): string =>
  createHmac("sha256", provisionerToken).update(`wharf worker ${uid}`).digest("hex");
