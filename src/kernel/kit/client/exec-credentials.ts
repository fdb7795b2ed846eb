import { spawn } from "node:child_process";
import { resolve } from "node:path";
import {
  type Clock,
  codeOf,
  type Instant,
  isJsonObject,
  type JsonObject,
  type Logger,
  type Millis,
  parseInstant,
  listAt,
} from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { Connection, Credential, CredentialSource } from "./client-config.ts";
import { credentialsFailed, kubeconfigInvalid, unsupportedSetting } from "./errors.ts";
import { textAt } from "./kubeconfig.ts";

// Credentials from a command (`aws eks get-token`, `gke-gcloud-auth-plugin`): KEP-541, version v1. KUBERNETES_EXEC_INFO
// describes the request, and the command prints an ExecCredential.

export type Environment = Readonly<Record<string, string | undefined>>;
export type ClusterConnection = Omit<Connection, "credentials">;
export type ClusterInfo = ClusterConnection & { readonly config: JsonObject };

export interface ExecOptions {
  readonly user: string;
  readonly exec: JsonObject;
  /** The folder for relative commands with a slash. */
  readonly folder: string;
  readonly cluster: ClusterInfo;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ExecCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly installHint: string | undefined;
}

const apiVersion = "client.authentication.k8s.io/v1";
/** Commands may ask a remote server, but nobody at a terminal. */
const timeout: Millis = 60_000;
/** Of both streams together. */
const maxOutput = 2 ** 20;
/** Credentials are renewed this long before they expire. */
const margin: Millis = 10_000;

/**
 * Credentials printed by a command. Concurrent callers share one run. Kept until shortly before they expire, or until
 * the server refuses them. Throws for a wrong `exec` part; a failing command is reported on first use.
 */
export function execCredentials(options: ExecOptions): CredentialSource {
  const command = readCommand(options);
  let held: { readonly credential: Credential; readonly until: Instant } | undefined;
  let running: Promise<Credential> | undefined;
  const renew = async (): Promise<Credential> => {
    const output = await run(command, options);
    held = readCredential(command.command, output);
    return held.credential;
  };
  return {
    get() {
      if (held !== undefined && options.clock.now() < held.until - margin) return Promise.resolve(held.credential);
      running ??= renew().finally(() => (running = undefined));
      return running;
    },
    refused() {
      held = undefined;
      return true;
    },
  };
}

function readCommand({ user, exec, folder, cluster }: ExecOptions): ExecCommand {
  const command = textAt(exec, "command");
  if (command === undefined) throw kubeconfigInvalid(`the exec part of the user "${user}" has no command`);
  if (exec["apiVersion"] !== apiVersion)
    throw unsupportedSetting(
      `exec.apiVersion ${JSON.stringify(exec["apiVersion"])} of the user "${user}"`,
      `it must be ${apiVersion}`,
    );
  if (exec["interactiveMode"] === "Always")
    throw unsupportedSetting(
      `exec.interactiveMode Always of the user "${user}"`,
      "commands get no terminal; log in with kubectl first",
    );
  const clusterInfo = exec["provideClusterInfo"] === true ? { cluster: clusterInfoOf(cluster) } : {};
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, ...clusterInfo } };
  return {
    // A bare name is looked up in PATH, a relative path starts at the kubeconfig.
    command: command.includes("/") ? resolve(folder, command) : command,
    args: listAt(exec, "args").map(String),
    env: { ...variablesOf(exec), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    installHint: textAt(exec, "installHint"),
  };
}

function clusterInfoOf({
  server,
  certificateAuthority,
  skipTlsVerify,
  tlsServerName,
  config,
}: ClusterInfo): JsonObject {
  const extension = listAt(config, "extensions").find(
    (item) => isJsonObject(item) && item["name"] === "client.authentication.k8s.io/exec",
  );
  return {
    server,
    ...(certificateAuthority === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(certificateAuthority).toString("base64") }),
    ...(skipTlsVerify === undefined ? {} : { "insecure-skip-tls-verify": skipTlsVerify }),
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(isJsonObject(extension) ? { config: extension["extension"] } : {}),
  };
}

function variablesOf(exec: JsonObject): Environment {
  const pairs = listAt(exec, "env").flatMap((item): [string, string][] => {
    const name = isJsonObject(item) ? textAt(item, "name") : undefined;
    return isJsonObject(item) && name !== undefined ? [[name, textAt(item, "value") ?? ""]] : [];
  });
  return Object.fromEntries(pairs);
}

function run(
  { command, args, env, installHint }: ExecCommand,
  { environment, clock, log }: ExecOptions,
): Promise<string> {
  return new Promise((resolvePromise, reject) => {
    const child = spawn(command, [...args], { env: { ...environment, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const [output, complaints]: [Buffer[], Buffer[]] = [[], []];
    let size = 0;
    const fail = (message: string, more: { hint?: string; cause?: unknown } = {}): void => {
      cancel();
      child.kill("SIGKILL");
      // What the command has started may keep them open.
      child.stdout.destroy();
      child.stderr.destroy();
      reject(credentialsFailed(command, message, more));
    };
    const cancel = clock.after(timeout, () => fail(`did not end within ${timeout / 1000} s`));
    const gather = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxOutput) fail(`printed more than ${maxOutput} bytes`);
      else into.push(chunk);
    };
    child.stdout.on("data", gather(output));
    child.stderr.on("data", gather(complaints));
    child.once("error", (cause) =>
      fail(
        `could not be started (${codeOf(cause)})`,
        installHint === undefined ? { cause } : { cause, hint: installHint },
      ),
    );
    child.once("close", (code, signal) => {
      cancel();
      const said = Buffer.concat(complaints).toString().trim();
      if (code !== 0) return fail(`ended with ${code ?? signal}${said === "" ? "" : `: ${said}`}`);
      if (said !== "") log.debug("the credential command said something", { command, said });
      resolvePromise(Buffer.concat(output).toString());
    });
  });
}

/** Different messages for each mistake: people debug these commands. */
function readCredential(command: string, output: string): { readonly credential: Credential; readonly until: Instant } {
  const parsed = parseJson(output);
  const answer = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const { status } = answer;
  if (answer["apiVersion"] !== apiVersion || answer["kind"] !== "ExecCredential" || !isJsonObject(status))
    throw credentialsFailed(command, `printed no ExecCredential of ${apiVersion}`);
  const [token, certificate, key, expiry] = [
    "token",
    "clientCertificateData",
    "clientKeyData",
    "expirationTimestamp",
  ].map((member) => textAt(status, member));
  if (token === undefined && (certificate === undefined || key === undefined))
    throw credentialsFailed(command, "printed neither a token nor a certificate with its key");
  const until = expiry === undefined ? Infinity : parseInstant(expiry);
  if (until === undefined)
    throw credentialsFailed(command, `printed an expirationTimestamp that is no time: ${expiry}`);
  return {
    credential: {
      ...(token === undefined ? {} : { token }),
      ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
    },
    until,
  };
}
