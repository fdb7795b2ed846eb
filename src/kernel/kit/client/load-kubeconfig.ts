import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type Clock, codeOf, isJsonObject, type Logger } from "#lib/base/index.ts";
import { type Connection, type CredentialSource, fixedCredential, type Impersonation } from "./client-config.ts";
import { kubeconfigInvalid, kubeconfigMissing, unsupportedSetting } from "./errors.ts";
import { type ClusterConnection, type Environment, execCredentials } from "./exec-credentials.ts";
import { type KubeconfigPart, mergeKubeconfigs, partsOf, readKubeconfig, textAt } from "./kubeconfig.ts";
import { tokenFileCredentials } from "./token-file.ts";

/** The kit does not look at `$KUBECONFIG` or the home folder by itself. */
export interface LoadKubeconfigOptions {
  /** Missing files are skipped if at least one exists. */
  readonly files: readonly string[];
  readonly context?: string;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Reads the connection of a context. Failures are SlipwayErrors with hints. Referenced files are read now, except
 * tokens; commands run on demand. Unsupported settings (proxies, auth providers, extra impersonation) are refused.
 */
export async function loadKubeconfig(options: LoadKubeconfigOptions): Promise<Connection> {
  const texts = await Promise.all(options.files.map(async (file) => ({ file, text: await readIfThere(file) })));
  const configs = texts.flatMap(({ file, text }) =>
    text === undefined ? [] : [readKubeconfig(text, file, dirname(resolve(file)))],
  );
  if (configs.length === 0) throw kubeconfigMissing(options.files);
  const { cluster, user, namespace } = partsOf(mergeKubeconfigs(configs), options.context);
  const connection = await clusterConnection(cluster);
  return {
    ...connection,
    credentials: await userCredentials(user, cluster, connection, options),
    ...impersonationOf(user),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

async function clusterConnection(part: KubeconfigPart): Promise<ClusterConnection> {
  const { value, name } = part;
  const server = textAt(value, "server");
  if (server === undefined) throw kubeconfigInvalid(`the cluster "${name}" has no server`);
  checkUrl(server, name);
  const proxy = textAt(value, "proxy-url");
  if (proxy !== undefined)
    throw unsupportedSetting(`proxy-url of the cluster "${name}"`, "connect without a proxy, or by a tunnel");
  const certificateAuthority = await pemAt(part, "certificate-authority");
  const tlsServerName = textAt(value, "tls-server-name");
  return {
    server,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(value["insecure-skip-tls-verify"] === true ? { skipTlsVerify: true } : {}),
  };
}

/** The refusal names the cluster. */
function checkUrl(server: string, cluster: string): void {
  const protocol = URL.canParse(server) ? new URL(server).protocol : undefined;
  if (protocol === "https:" || protocol === "http:") return;
  throw kubeconfigInvalid(
    `the server of the cluster "${cluster}" is no http or https address: ${JSON.stringify(server)}`,
  );
}

/** In kubectl's order: token file, token, basic, command; a certificate goes with each. */
async function userCredentials(
  part: KubeconfigPart | undefined,
  cluster: KubeconfigPart,
  connection: ClusterConnection,
  options: LoadKubeconfigOptions,
): Promise<CredentialSource> {
  if (part === undefined) return fixedCredential({});
  const { value, name, folder } = part;
  const [certificate, key] = await Promise.all([pemAt(part, "client-certificate"), pemAt(part, "client-key")]);
  if ((certificate === undefined) !== (key === undefined))
    throw kubeconfigInvalid(`the user "${name}" needs both a client certificate and its key, or neither`);
  const own = certificate === undefined || key === undefined ? {} : { certificate, key };
  const [token, tokenFile, username] = ["token", "tokenFile", "username"].map((member) => textAt(value, member));
  const { exec } = value;
  if (value["auth-provider"] !== undefined)
    throw unsupportedSetting(`auth-provider of the user "${name}"`, "Kubernetes has replaced it by exec commands");
  if (tokenFile !== undefined) return tokenFileCredentials(resolve(folder, tokenFile), options.clock, own);
  if (token !== undefined) return fixedCredential({ ...own, token });
  if (username !== undefined)
    return fixedCredential({ ...own, basic: { username, password: textAt(value, "password") ?? "" } });
  if (isJsonObject(exec))
    return execCredentials({ user: name, exec, folder, cluster: { ...connection, config: cluster.value }, ...options });
  return fixedCredential(own);
}

/** Without `as` the others have no effect, as in kubectl. */
function impersonationOf(part: KubeconfigPart | undefined): { readonly impersonate?: Impersonation } {
  const user = part === undefined ? undefined : textAt(part.value, "as");
  if (part === undefined || user === undefined) return {};
  if (part.value["as-user-extra"] !== undefined)
    throw unsupportedSetting(`as-user-extra of the user "${part.name}"`, "impersonate with user, uid and groups only");
  const groups = part.value["as-groups"] ?? [];
  if (!Array.isArray(groups) || !isTexts(groups))
    throw kubeconfigInvalid(`expected a list of texts for as-groups of the user "${part.name}"`);
  const uid = textAt(part.value, "as-uid");
  return {
    impersonate: {
      user,
      ...(uid === undefined ? {} : { uid }),
      ...(groups.length === 0 ? {} : { groups }),
    },
  };
}

const isTexts = (values: readonly unknown[]): values is readonly string[] =>
  values.every((value) => typeof value === "string");

/** From `<member>-data` in base64, or from the file that `<member>` names. */
async function pemAt({ value, folder, name }: KubeconfigPart, member: string): Promise<string | undefined> {
  const data = textAt(value, `${member}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString();
  const file = textAt(value, member);
  if (file === undefined) return undefined;
  try {
    return await readFile(resolve(folder, file), "utf8");
  } catch (thrown) {
    throw kubeconfigInvalid(
      `the ${member} of "${name}" cannot be read from ${resolve(folder, file)} (${codeOf(thrown)})`,
    );
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw kubeconfigInvalid(`the kubeconfig ${file} cannot be read (${codeOf(thrown)})`);
  }
}
