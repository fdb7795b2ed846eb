import { ApiError } from "#kernel/model/index.ts";
import type { PodSessions } from "#kernel/runtimes/index.ts";

/** For a server without a Pod runner. */
export const noPodSessions: PodSessions = {
  check: () => Promise.reject(refusal()),
  exec: () => Promise.reject(refusal()),
  attach: () => Promise.reject(refusal()),
  connect: () => Promise.reject(refusal()),
};

const refusal = () =>
  new ApiError("NotImplemented", "this server runs no Pods, so that there is nothing to connect to");
