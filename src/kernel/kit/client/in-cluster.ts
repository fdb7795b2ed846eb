import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, SlipwayError } from "#lib/base/index.ts";
import type { Connection } from "./client-config.ts";
import type { Environment } from "./exec-credentials.ts";
import { tokenFileCredentials } from "./token-file.ts";

const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/** A Pod's connection by the service account in `folder`; an error if it is missing. Undefined outside of Pods. */
export async function inClusterConnection(
  environment: Environment,
  clock: Clock,
  folder: string = mounted,
): Promise<Connection | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (!host || !port) return undefined;
  try {
    const [certificateAuthority, namespace] = await Promise.all(
      ["ca.crt", "namespace"].map((file) => readFile(join(folder, file), "utf8")),
    );
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
      ...(namespace === undefined ? {} : { namespace: namespace.trim() }),
      credentials: tokenFileCredentials(join(folder, "token"), clock),
    };
  } catch (cause) {
    throw new SlipwayError("service-account-missing", `this Pod has no service account at ${folder}`, {
      hint: "set automountServiceAccountToken: true for the Pod",
      cause,
    });
  }
}
