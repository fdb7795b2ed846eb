import { spawn } from "node:child_process";
import { resolve } from "node:path";
import {
  type Clock,
  codeOf,
  type Instant,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Logger,
  type Millis,
  parseInstant,
} from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { Connection, Credential, CredentialSource } from "./client-config.ts";
import { credentialsFailed, kubeconfigInvalid, unsupportedSetting } from "./errors.ts";
import { textAt } from "./kubeconfig.ts";

// Credentials from a command, as clouds have them (`aws eks get-token`, `gke-gcloud-auth-plugin`): KEP-541, version v1 only, which
// Kubernetes has since 1.22. The command is told in KUBERNETES_EXEC_INFO what is asked and prints an ExecCredential.

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How to reach a cluster, whoever asks. */
export type ClusterConnection = Omit<Connection, "credentials">;

/** What a command may be told of the cluster; `config` is its part of the kubeconfig. */
export type ClusterInfo = ClusterConnection & { readonly config: JsonObject };

/** Where a command comes from and what it runs in. */
export interface ExecOptions {
  readonly user: string;
  /** The `exec` part of a kubeconfig user. */
  readonly exec: JsonObject;
  /** A command with a slash in it is relative to this folder. */
  readonly folder: string;
  readonly cluster: ClusterInfo;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What will be run, with everything resolved; running it is the only thing left. */
interface ExecCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly installHint: string | undefined;
}

const apiVersion = "client.authentication.k8s.io/v1";
/** Commands may ask a server far away, but nobody at a terminal. */
const timeout: Millis = 60_000;
/** Of both streams together; a credential is a few kilobytes. */
const maxOutput = 2 ** 20;
/** Credentials are renewed this long before they end, so that none ends on its way. */
const margin: Millis = 10_000;

/**
 * Credentials that a command prints as `client.authentication.k8s.io/v1` ExecCredential. Callers at the same time share one run. Held until
 * ten seconds before they end, for ever when they name no end, and run for anew when the server refuses them. What is wrong with the
 * kubeconfig's `exec` part is thrown here, what is wrong with the command when it is first needed.
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

/** What will be run, with all that the kubeconfig says of it. Throws for what would not work, naming the user. */
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
    // As a shell does: a bare name is looked up in PATH, a relative path starts at the file that names it.
    command: command.includes("/") ? resolve(folder, command) : command,
    args: listAt(exec, "args").map(String),
    env: { ...variablesOf(exec), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    installHint: textAt(exec, "installHint"),
  };
}

/** `spec.cluster` of the request: what the command needs to ask the right server. */
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

/** A list member; empty for anything else. */
const listAt = (object: JsonObject, key: string): readonly JsonValue[] => {
  const value = object[key];
  return Array.isArray(value) ? value : [];
};

/** `env: [{name, value}]`; goes over the inherited variables. */
function variablesOf(exec: JsonObject): Environment {
  const pairs = listAt(exec, "env").flatMap((item): [string, string][] => {
    const name = isJsonObject(item) ? textAt(item, "name") : undefined;
    return isJsonObject(item) && name !== undefined ? [[name, textAt(item, "value") ?? ""]] : [];
  });
  return Object.fromEntries(pairs);
}

/** What the command printed. It is killed when it takes too long or says too much; its complaints become the message. */
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
      // What it has started lives on, and would keep us reading for ever.
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

/** Every way in which the output can be no credential is told apart: people debug these commands. */
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
