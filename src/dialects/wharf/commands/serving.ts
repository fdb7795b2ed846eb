import { defaultDataDirectory, type Environment, UsageError } from "#kernel/command/index.ts";
import { readToken } from "#kernel/command/index.node.ts";
import type { WharfRunOptions } from "./run-options.ts";

export function serveOf({ serve, address, authTokenFile, anonymousAuth }: WharfRunOptions): string | undefined {
  if (serve === true) return address ?? "127.0.0.1:5010";
  if (address !== undefined) throw new UsageError("--address says where --serve serves, which is not given");
  if (authTokenFile !== undefined) throw new UsageError("--auth-token-file is for --serve, which is not given");
  if (anonymousAuth !== undefined) throw new UsageError("--anonymous-auth is for --serve, which is not given");
  return undefined;
}

export const opensService = (serves: string): string => {
  const flag = serves === "wharf-api" ? "--wharf-listen" : "--wharf-provisioner-listen";
  return `slipway up serves it when there is a Project or Build, or with ${flag} HOST:PORT`;
};

export const tokenFileOf = (
  { authTokenFile }: Pick<WharfRunOptions, "authTokenFile">,
  { directory }: Pick<Environment, "directory">,
): string | undefined =>
  authTokenFile === undefined || authTokenFile.startsWith("/") ? authTokenFile : `${directory}/${authTokenFile}`;

export interface ServingAccess {
  readonly token: string;
  readonly allowsAnonymous: boolean;
}

/** The token from the named file, else this user's own, whose file is printed. */
export async function servingAccess(
  options: Pick<WharfRunOptions, "anonymousAuth" | "authTokenFile">,
  environment: Environment,
  tell: (text: string) => void,
): Promise<ServingAccess> {
  const named = await readToken(tokenFileOf(options, environment));
  const allowsAnonymous = options.anonymousAuth === true;
  if (allowsAnonymous) tell("--anonymous-auth lets in clients without credentials: every user who reaches the port");
  if (named !== undefined) return { token: named, allowsAnonymous };
  const { serverToken } = await import("#kernel/doors/index.ts");
  const { token, file } = await serverToken(`${defaultDataDirectory(environment)}/wharf`);
  if (!allowsAnonymous) tell(`clients present the token in ${file}`);
  return { token, allowsAnonymous };
}
