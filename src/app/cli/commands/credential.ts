import { resolve } from "node:path";
import type { IssuedCredential } from "#app/server/index.ts";
import { formatTime, isJsonObject, parseDuration } from "#lib/base/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
import {
  actionWord,
  command,
  dataDirectoryOf,
  exitCode,
  type Invocation,
  UsageError,
  withSession,
} from "#kernel/command/index.ts";
import { formatHelp } from "../output/formats.ts";
import { getCommand } from "./get.ts";

interface CredentialOptions {
  readonly user?: string;
  readonly group?: string[];
  /** An alias for a group. */
  readonly role?: keyof typeof groupOfRole;
  readonly expiresIn: string;
  readonly description?: string;
  /** Must not exist, unless `force`. */
  readonly to?: string;
  /** Requires `to`. */
  readonly server?: string;
  /** A certificate signed by the authority in the data directory, not by the server. */
  readonly certificate?: boolean;
  readonly force?: boolean;
  readonly dataDir?: string;
  readonly output: string;
}

/** The groups that Slipway's roles are bound to. */
const groupOfRole = { admin: "system:masters", operator: "slipway:operators", viewer: "slipway:viewers" } as const;

const verbs = ["create", "list", "revoke"] as const;

const credentials: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Credential",
  plural: "credentials",
  namespaced: false,
};

/**
 * Tokens and client certificates of users, stored as objects: RBAC decides who may create them, and the audit log
 * records it. The secret is printed or written once and cannot be recovered.
 */
export const credentialCommand = command<CredentialOptions>({
  name: "credential",
  aliases: ["token"],
  args: ["<action>", "[names...]"],
  summary: "Create, list or revoke tokens and certificates of users",
  group: "Control plane",
  examples: [
    "slipway credential create --user anna --role viewer",
    "slipway credential create --user ci --group builders --expires-in 24h --to ci.kubeconfig",
    "slipway credential create --user bob --role viewer --to bob.kubeconfig --server https://build.example:6443",
    "slipway credential list",
    "slipway credential revoke --user anna",
  ],
  options: [
    { flags: "--user <name>", summary: "create: the user; revoke: all credentials of this user" },
    { flags: "--group <name>", summary: "create: a group of the user; may be repeated", repeatable: true },
    { flags: "--role <name>", summary: "create: a role of Slipway's own", choices: Object.keys(groupOfRole) },
    { flags: "--expires-in <time>", summary: "create: validity, such as 24h, or never", initial: "720h" },
    { flags: "--description <text>", summary: "create: a note on its purpose" },
    { flags: "--to <file>", summary: "create: write a kubeconfig (0600) instead of printing a token" },
    { flags: "--server <url>", summary: "create: URL of the server in the kubeconfig; requires --to" },
    { flags: "--certificate", summary: "create: a client certificate instead of a token; requires --to" },
    { flags: "--force", summary: "create: replace an existing file" },
    {
      flags: "--data-dir <folder>",
      summary: "for --certificate: data directory (default: $SLIPWAY_DATA_DIR or ~/.slipway)",
    },
    { flags: "-o, --output <format>", summary: formatHelp, initial: "table" },
  ],
  completes: [verbs],
  async action(invocation) {
    const { args, rest, options } = invocation;
    const verb = actionWord(verbs, args[0] ?? "");
    switch (verb) {
      case "create":
        if (rest.length > 0)
          throw new UsageError(`create takes no names, found ${rest.join(", ")}`, "name the user with --user");
        return await create(invocation);
      case "list":
        return await getCommand.action({ ...invocation, args: [credentials.plural], options });
      case "revoke":
        return await revoke(rest, invocation);
    }
  },
});

/** Checks all options before it creates anything. */
async function create(invocation: Invocation<CredentialOptions>): Promise<number> {
  const { options, environment, clock } = invocation;
  const { user, group = [], role, description, certificate = false } = options;
  if (user === undefined) throw new UsageError("--user is required", "slipway credential create --user NAME");
  if (certificate && options.to === undefined) throw new UsageError("--certificate requires --to FILE");
  const reached = options.server === undefined ? undefined : serverUrl(options.server);
  if (reached !== undefined && options.to === undefined) throw new UsageError("--server requires --to FILE");
  const now = clock.now();
  const until = endOf(options.expiresIn, now);
  if (certificate && until === undefined)
    throw new UsageError("a certificate must expire: --expires-in cannot be never");
  const server = await import("#app/server/index.ts");
  const file = options.to === undefined ? undefined : resolve(environment.directory, options.to);
  if (file !== undefined && options.force !== true) await server.expectNoFile(file);
  const groups = [...group, ...(role === undefined ? [] : [groupOfRole[role]])];
  const request = { user, groups, ...(description === undefined ? {} : { description }) };
  const asked = until === undefined ? request : { ...request, until };
  return await withSession(invocation, async ({ client }) => {
    if (file === undefined) return await print(await server.issueToken(client, asked), until, invocation);
    const { findConnection } = await import("../connect.ts");
    const { server: known, certificateAuthority: ca } = await findConnection(options, environment, clock);
    const directory = dataDirectoryOf(environment, options.dataDir);
    const issued =
      certificate && until !== undefined
        ? await server.issueCertificate(client, { directory, ca }, { ...request, until }, now)
        : await server.issueToken(client, asked);
    const url = reached ?? known;
    await server.writeCredential(file, { url, ...(ca === undefined ? {} : { caPem: ca }) }, user, issued);
    environment.out.write(`credential/${issued.name} created\n`);
    environment.err.write(`slipway: ${options.to} is valid for ${user}${await endText(until)}\n`);
    return exitCode.succeeded;
  });
}

/** An https origin without credentials, path or query. */
function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && url.username === "" && url.password === "" && `${url.origin}/` === url.href)
    return url.origin;
  throw new UsageError(`--server: expected a URL such as https://build.example:6443, found "${text}"`);
}

function endOf(text: string, now: number): number | undefined {
  if (text === "never") return undefined;
  const length = parseDuration(text);
  if (!length.ok) throw new UsageError(`--expires-in: ${length.error}, or never`);
  if (length.value <= 0) throw new UsageError(`--expires-in: expected a time above 0, found "${text}"`);
  return now + length.value;
}

async function endText(until: number | undefined): Promise<string> {
  return until === undefined ? " until it is revoked" : ` until ${formatTime(until)}`;
}

/** Prints only the token on stdout, so that `$(…)` captures it. */
async function print(
  { name, secret }: IssuedCredential,
  until: number | undefined,
  { options, environment }: Invocation<CredentialOptions>,
): Promise<number> {
  if (!("token" in secret)) throw new Error("a certificate is written to a file");
  if (options.output === "json") environment.out.write(`${JSON.stringify({ name, ...secret })}\n`);
  else environment.out.write(`${secret.token}\n`);
  environment.err.write(
    `slipway: credential/${name} created, valid${await endText(until)}; the token is not shown again\n`,
  );
  return exitCode.succeeded;
}

/** Revokes credentials by name, or all of a user. */
async function revoke(names: readonly string[], invocation: Invocation<CredentialOptions>): Promise<number> {
  const { options, environment } = invocation;
  const { user } = options;
  if ((names.length === 0) === (user === undefined))
    throw new UsageError("revoke takes names, as list shows them, or --user", "slipway credential revoke --user NAME");
  return await withSession(invocation, async ({ client }) => {
    const all = user === undefined ? [] : (await client.list(credentials)).items.filter((one) => userOf(one) === user);
    if (user !== undefined && all.length === 0) environment.err.write(`slipway: ${user} has no credentials\n`);
    for (const name of user === undefined ? names : all.map(({ metadata }) => metadata.name)) {
      await client.delete({ type: credentials, name });
      environment.out.write(`credential/${name} revoked\n`);
    }
    return exitCode.succeeded;
  });
}

const userOf = ({ spec }: KubeObject): unknown => (isJsonObject(spec) ? spec["user"] : undefined);
