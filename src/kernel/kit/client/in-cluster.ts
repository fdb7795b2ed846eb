import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, SlipwayError } from "#lib/base/index.ts";
import type { Connection } from "./client-config.ts";
import type { Environment } from "./exec-credentials.ts";
import { tokenFileCredentials } from "./token-file.ts";

/** Where every Pod finds its account, unless it asked for none. */
const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The connection of a process in a Pod, by its service account; undefined when the environment is not that of a Pod. `folder` is where
 * the account is mounted. The two variables are those that the kubelet sets in every Pod; the token is read again and again, because
 * bound tokens are replaced every hour. A Pod without a mounted account is an error with a hint, not "not in a Pod".
 */
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
