import { isJsonObject, type JsonObject, messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ImageFacts, RegistryLogin } from "../contract.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { EngineRefusal, isRefusal } from "./engine/engine-errors.ts";
import { objectOf, textOf } from "./engine/members.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { pauseProgram, tarOf } from "./pause-program.ts";
import { createHash } from "node:crypto";

/** By name only; the registry is not asked. */
export async function findImage(engine: EngineClient, image: string): Promise<ImageFacts | undefined> {
  try {
    return factsOf(await engine.object("GET", `/images/${imagePath(image)}/json`));
  } catch (thrown) {
    if (isRefusal(thrown, 404)) return undefined;
    // Not a valid name; pulling it says why.
    if (isRefusal(thrown, 400)) return undefined;
    throw thrown;
  }
}

/** Slashes are part of the engine's path. */
const imagePath = (image: string): string =>
  image.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":").replaceAll("%40", "@");

/** The registry's digest, else the id: built and imported images have no digest. */
function factsOf(image: JsonObject): ImageFacts {
  const id = textOf(image, "Id");
  const digests = Array.isArray(image["RepoDigests"]) ? image["RepoDigests"] : [];
  return {
    id,
    digest: typeof digests[0] === "string" ? digests[0] : id,
    user: textOf(objectOf(image, "Config"), "User"),
  };
}

/** The tag is `latest` if there is neither tag nor digest: the engine would pull every tag. */
export function splitImage(image: string): { readonly name: string; readonly tag: string } {
  const at = image.indexOf("@");
  if (at >= 0) return { name: image.slice(0, at).replace(/:[^:/]*$/, ""), tag: image.slice(at + 1) };
  const [, name = image, tag = "latest"] = /^(.*?)(?::([^:/]+))?$/.exec(image) ?? [];
  return { name, tag };
}

const pullFailed = (image: string, message: string): SlipwayError =>
  new SlipwayError("image-pull", `failed to pull image "${image}": ${message}`);

/** Pulls an image with the first accepted login. Rejects with `image-pull`, saying why the last one was refused. */
export async function pullImage(
  engine: EngineClient,
  image: string,
  logins: readonly RegistryLogin[],
  signal: AbortSignal,
): Promise<ImageFacts> {
  let failure = "";
  for (const login of logins.length === 0 ? [undefined] : logins) {
    try {
      await pullOnce(engine, image, login, signal);
      const found = await findImage(engine, image);
      if (found !== undefined) return found;
      failure = "the engine does not have it after pulling it";
    } catch (thrown) {
      signal.throwIfAborted();
      failure = messageOf(thrown);
    }
  }
  throw pullFailed(image, failure);
}

/** Progress must be read to the end for the pull to complete. */
async function pullOnce(
  engine: EngineClient,
  image: string,
  login: RegistryLogin | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name, tag } = splitImage(image);
  const response = await engine.stream("POST", "/images/create", {
    query: { fromImage: name, tag },
    headers: login === undefined ? {} : { "x-registry-auth": registryAuth(login) },
    signal,
  });
  for await (const line of jsonLines(response)) {
    const refusal = isJsonObject(line) ? refusalIn(line) : "";
    if (refusal !== "") throw new EngineRefusal(500, refusal);
  }
}

/** A failure within a successful answer; empty if the line reports none. Old engines have `error` alone. */
export const refusalIn = (line: JsonObject): string =>
  textOf(objectOf(line, "errorDetail"), "message") || textOf(line, "error");

/** Base64 of the URL alphabet with padding, without which the engine sees no login. */
export function registryAuth({ server, username, password, identityToken }: RegistryLogin): string {
  const auth = identityToken === undefined ? { username, password } : { identitytoken: identityToken };
  const text = Buffer.from(JSON.stringify({ ...auth, serveraddress: server })).toString("base64");
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/** No registry's name: `.local` is reserved (RFC 6762). */
const pauseRepository = "slipway.local/pause";

/** The image of sandboxes, created on this engine on demand; nothing is pulled. Its tag changes with its program. */
export async function ensurePauseImage(engine: EngineClient): Promise<string> {
  const architecture = textOf(await engine.object("GET", "/version"), "Arch");
  const program = pauseProgram(architecture);
  if (program === undefined) {
    throw new SlipwayError("engine-architecture", `pods cannot run on an engine for ${architecture}`, {
      hint: "use one for amd64 or arm64",
    });
  }
  const tag = createHash("sha256").update(program).digest("hex").slice(0, 12);
  const image = `${pauseRepository}:${tag}`;
  if ((await findImage(engine, image)) !== undefined) return image;
  await engine.call("POST", "/images/create", {
    query: { fromSrc: "-", repo: pauseRepository, tag, changes: 'ENTRYPOINT ["/pause"]' },
    body: tarOf("pause", program, 0o755),
  });
  return image;
}
