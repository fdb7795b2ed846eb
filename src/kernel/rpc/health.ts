import { aborted } from "#lib/base/index.ts";
import { Health, HealthCheckResponse_ServingStatus } from "./gen/grpc/health/v1/health_pb.js";
import { type RpcService, service } from "./service.ts";
import { RpcError } from "./status.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;

/** The standard health service. The empty name means the server as a whole. */
export function healthService(names: ReadonlySet<string>, isClosing: () => boolean): RpcService {
  const isKnown = (name: string): boolean => name === "" || names.has(name);
  const now = () => ({ status: isClosing() ? NOT_SERVING : SERVING });
  return service(Health, {
    async check({ service: name }) {
      if (!isKnown(name)) throw new RpcError("NOT_FOUND", `there is no service "${name}" here`);
      return now();
    },
    async watch({ service: name }, replies, { signal }) {
      // An unknown service may appear later, so watching it is no error.
      replies.send(isKnown(name) ? now() : { status: SERVICE_UNKNOWN });
      await aborted(signal);
      if (isKnown(name)) replies.send(now());
      throw signal.reason;
    },
  });
}
