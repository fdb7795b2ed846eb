import { isJsonObject, type JsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import type { RegistryLogin } from "../contract.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { objectOf, textOf } from "./engine/members.ts";
import { registryAuth, splitImage } from "./images.ts";

// Building by the Engine API alone: the engine's own builder is sent a directory as an archive and tells what it does. What needs a session with the
// client, such as secrets of BuildKit, is not part of it.

/** An image that is to be made. */
export interface ImageBuild {
  /** Of the directory that the Dockerfile may copy from. */
  readonly context: AsyncIterable<Buffer>;
  /** Path of the Dockerfile in it. */
  readonly dockerfile: string;
  /** All names that the image is to have. */
  readonly names: readonly string[];
  readonly args: Readonly<Record<string, string>>;
  /** Those of the images that it is made from. */
  readonly logins: readonly RegistryLogin[];
  /** Fetch those images also when they are here. */
  readonly pulls: boolean;
}

/** Builds an image, telling of it line by line. Rejects with `image-build`, which has the builder's words, or the signal's reason, which ends the build. */
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
    // The builder of BuildKit would want a session; `version` 1 is the one that needs none.
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

/** Pushes an image to the registry of its name. Rejects with `image-push`, which has the registry's words, or the signal's reason. */
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
    // The engine refuses to push without the header, also where nobody asks who it is.
    headers: { "x-registry-auth": login === undefined ? base64Of({}) : registryAuth(login) },
    signal,
  });
  await told(jsonLines(response), "image-push", onText, signal);
}

const base64Of = (value: JsonValue): string =>
  Buffer.from(JSON.stringify(value)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");

/** A refusal comes within a successful answer: the engine had begun to tell of progress. */
async function told(
  lines: AsyncIterable<JsonValue>,
  code: "image-build" | "image-push",
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const line of lines) {
      if (!isJsonObject(line)) continue;
      const failure = textOf(objectOf(line, "errorDetail"), "message") || textOf(line, "error");
      if (failure !== "") throw new SlipwayError(code, failure);
      const text = textOf(line, "stream") || statusOf(line);
      if (text !== "") onText(text);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
}

/** What layers come to, not each of their bytes. */
function statusOf(line: JsonObject): string {
  const [status, id] = [textOf(line, "status"), textOf(line, "id")];
  if (status === "" || Object.keys(objectOf(line, "progressDetail")).length > 0) return "";
  return `${id === "" ? "" : `${id}: `}${status}\n`;
}
