import { isJsonObject, type JsonObject, type JsonValue, messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ImageFacts, RegistryLogin } from "../contract.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { EngineRefusal, isRefusal } from "./engine/engine-errors.ts";
import { objectOf, textOf } from "./engine/members.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { pauseProgram, tarOf } from "./pause-program.ts";
import { createHash } from "node:crypto";

/** The image is there, as far as its name tells: what a registry has under it by now is not asked. */
export async function findImage(engine: EngineClient, image: string): Promise<ImageFacts | undefined> {
  try {
    return factsOf(await engine.object("GET", `/images/${imagePath(image)}/json`));
  } catch (thrown) {
    if (isRefusal(thrown, 404)) return undefined;
    // What is no name of an image is not there either; pulling it says what is wrong with it.
    if (isRefusal(thrown, 400)) return undefined;
    throw thrown;
  }
}

/** Slashes stay, they are part of the engine's path. */
const imagePath = (image: string): string =>
  image.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":").replaceAll("%40", "@");

/** The digest under which a registry has it, else the id: images that were built or imported here have no digest. */
function factsOf(image: JsonObject): ImageFacts {
  const id = textOf(image, "Id");
  const digests = Array.isArray(image["RepoDigests"]) ? image["RepoDigests"] : [];
  return {
    id,
    digest: typeof digests[0] === "string" ? digests[0] : id,
    user: textOf(objectOf(image, "Config"), "User"),
  };
}

/** The repository and the tag or digest; `latest` when there is neither: without it the engine would fetch every tag there is. */
export function splitImage(image: string): { readonly name: string; readonly tag: string } {
  const at = image.indexOf("@");
  if (at >= 0) return { name: image.slice(0, at).replace(/:[^:/]*$/, ""), tag: image.slice(at + 1) };
  const [, name = image, tag = "latest"] = /^(.*?)(?::([^:/]+))?$/.exec(image) ?? [];
  return { name, tag };
}

/** The world's refusal of an image: unknown, no access, no registry. */
const pullFailed = (image: string, message: string): SlipwayError =>
  new SlipwayError("image-pull", `failed to pull image "${image}": ${message}`);

/**
 * Fetches an image from its registry. Of several logins the first that is let in counts; why the last one was not is told. Layers
 * that are here already are not fetched again. Rejects with `image-pull` for everything but an abort.
 */
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

/** One try with one login. Progress is read and dropped: it must be read to the end for the pull to be done. */
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
  // A refusal comes within a successful answer: the engine had begun to tell of progress.
  for await (const line of jsonLines(response)) {
    const refusal = refusalIn(line);
    if (refusal !== undefined) throw new EngineRefusal(500, refusal);
  }
}

/** Old engines have `error` alone, newer ones have both. */
function refusalIn(line: JsonValue): string | undefined {
  if (!isJsonObject(line)) return undefined;
  const detail = line["errorDetail"];
  if (isJsonObject(detail) && typeof detail["message"] === "string") return detail["message"];
  return typeof line["error"] === "string" ? line["error"] : undefined;
}

/** The header of the Engine API: JSON in base64 of the URL's alphabet, padded: without padding the engine takes it for no login at all. */
export function registryAuth({ server, username, password, identityToken }: RegistryLogin): string {
  const auth = identityToken === undefined ? { username, password } : { identitytoken: identityToken };
  const text = Buffer.from(JSON.stringify({ ...auth, serveraddress: server })).toString("base64");
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/** Not the name of any registry: `.local` is never given to anybody (RFC 6762). */
const pauseRepository = "slipway.local/pause";

/**
 * The image of sandboxes, made on this engine when it is not there: nothing is fetched from anywhere. Its tag changes with its
 * program.
 */
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
