import { isJsonObject, type JsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import type { RegistryLogin } from "../contract.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { objectOf, textOf } from "./engine/members.ts";
import { registryAuth, splitImage, refusalIn } from "./images.ts";

// Builds by the Engine API alone: without a session, such as BuildKit's secrets would need.

export interface ImageBuild {
  readonly context: AsyncIterable<Buffer>;
  readonly dockerfile: string;
  readonly names: readonly string[];
  readonly args: Readonly<Record<string, string>>;
  readonly logins: readonly RegistryLogin[];
  /** Pull base images even if they are present. */
  readonly pulls: boolean;
}

/** Builds an image, reporting lines. Rejects with `image-build` and the builder's words, or the signal's reason. */
export async function buildImage(
  engine: EngineClient,
  { context, dockerfile, names, args, logins, pulls }: ImageBuild,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const config = Object.fromEntries(
    logins.map(({ server, username, password, identityToken }) => [
      server,
      identityToken === undefined
        ? { username: username ?? "", password: password ?? "" }
        : { identitytoken: identityToken },
    ]),
  );
  const response = await engine.stream("POST", "/build", {
    // BuildKit would need a session.
    query: {
      version: "1",
      dockerfile,
      t: names,
      buildargs: JSON.stringify(args),
      rm: "1",
      forcerm: "1",
      ...(pulls ? { pull: "1" } : {}),
    },
    headers: { "x-registry-config": base64Of(config) },
    body: context,
    signal,
  });
  await told(jsonLines(response), "image-build", onText, signal);
}

/** Rejects with `image-push` and the registry's words, or the signal's reason. */
export async function pushImage(
  engine: EngineClient,
  image: string,
  login: RegistryLogin | undefined,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { name, tag } = splitImage(image);
  const response = await engine.stream("POST", `/images/${name}/push`, {
    query: { tag },
    // Required even without a login.
    headers: { "x-registry-auth": login === undefined ? base64Of({}) : registryAuth(login) },
    signal,
  });
  await told(jsonLines(response), "image-push", onText, signal);
}

const base64Of = (value: JsonValue): string =>
  Buffer.from(JSON.stringify(value)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");

/** A refusal comes within a successful answer. */
async function told(
  lines: AsyncIterable<JsonValue>,
  code: "image-build" | "image-push",
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const line of lines) {
      if (!isJsonObject(line)) continue;
      const failure = refusalIn(line);
      if (failure !== "") throw new SlipwayError(code, failure);
      const text = textOf(line, "stream") || statusOf(line);
      if (text !== "") onText(text);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
}

/** Without the progress of each layer. */
function statusOf(line: JsonObject): string {
  const [status, id] = [textOf(line, "status"), textOf(line, "id")];
  if (status === "" || Object.keys(objectOf(line, "progressDetail")).length > 0) return "";
  return `${id === "" ? "" : `${id}: `}${status}\n`;
}
