import type { SourceUrl } from "./source-url.ts";

// Credentials reach Git through its environment only: they are in no argument list and in no file of a repository.

type Environment = Readonly<Record<string, string | undefined>>;

export interface GitRemote {
  readonly source: SourceUrl;
  /** For HTTP; default: the password of the address. */
  readonly token?: string | undefined;
  readonly user?: string | undefined;
  /** For SSH: files with the private key, which only the owner may read, and with the known hosts. */
  readonly ssh?: { readonly keyFile: string; readonly knownHostsFile?: string };
  /** For SSH: where to connect, whatever the host's name resolves to. The host's key is still that of the name. */
  readonly pinned?: { readonly address: string; readonly hostKeyAlias: string };
}

const userVariable = "SLIPWAY_GIT_USER";
const tokenVariable = "SLIPWAY_GIT_TOKEN";

/** Only `get`: nothing is stored or erased. */
const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$${userVariable}" "$${tokenVariable}"; }; f`;

/** Ends stalled transfers. */
const patience = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"];

const isHttp = ({ scheme }: SourceUrl): boolean => scheme === "http" || scheme === "https";

/** Words before the command. Passes the credential to its own host only; other helpers are disabled. */
export function gitSettings({ source, token }: GitRemote): readonly string[] {
  if ((token ?? source.password) === undefined || !isHttp(source)) return patience;
  const { origin } = new URL(source.url);
  return [
    ...patience,
    "-c",
    "credential.helper=",
    "-c",
    `credential.${origin}.helper=`,
    "-c",
    `credential.${origin}.helper=${helper}`,
  ];
}

/** Disables prompts and unknown SSH hosts and restricts protocols. `none` also disables the SSH keys of the user. */
export function gitEnvironment(
  { source, token, user, ssh, pinned }: Omit<GitRemote, "ssh"> & { readonly ssh?: GitRemote["ssh"] | "none" },
  own: Environment,
): Environment {
  const password = token ?? source.password;
  const command = own["GIT_SSH_COMMAND"] ?? "ssh";
  return {
    ...own,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GIT_ALLOW_PROTOCOL: source.scheme === "file" ? "https:http:ssh:git:file" : "https:http:ssh:git",
    GIT_SSH_COMMAND: [command, ...keyWords(ssh), ...pinWords(pinned), ...sshWords].join(" "),
    LC_ALL: "C",
    // Many hosts accept any user name with a token, but no empty one.
    ...(isHttp(source) && password !== undefined
      ? { [userVariable]: user ?? source.user ?? "oauth2", [tokenVariable]: password }
      : {}),
  };
}

const sshWords = [
  "-o BatchMode=yes",
  "-o StrictHostKeyChecking=yes",
  "-o ConnectTimeout=30",
  "-o ServerAliveInterval=15",
];

const pinWords = (pinned: GitRemote["pinned"]): readonly string[] =>
  pinned === undefined ? [] : [`-o HostName='${pinned.address}' -o HostKeyAlias='${pinned.hostKeyAlias}'`];

/** The shell reads the command; names of files made here have neither blanks nor quotes. */
function keyWords(ssh: GitRemote["ssh"] | "none"): readonly string[] {
  if (ssh === undefined) return [];
  if (ssh === "none") return ["-F /dev/null", "-o IdentitiesOnly=yes", "-o IdentityAgent=none", "-o IdentityFile=none"];
  return [
    `-i '${ssh.keyFile}' -o IdentitiesOnly=yes`,
    ...(ssh.knownHostsFile === undefined ? [] : [`-o UserKnownHostsFile='${ssh.knownHostsFile}'`]),
  ];
}
