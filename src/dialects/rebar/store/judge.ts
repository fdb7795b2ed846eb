import type { JsonObject } from "#lib/base/index.ts";
import { Refused, unsoundObject } from "../failure.ts";
import { availability } from "../model/availability.ts";
import { asJson, keyOf, readObject } from "../model/read.ts";
import { syntaxErrors } from "../model/syntax.ts";
import type { AnyObject, Collection, Machine, ObjectOf } from "../objects.ts";
import { changeMachine, createMachine } from "../rules/machine.ts";
import type { Write } from "../store.ts";
import type { World } from "../world.ts";
import { newUuid, type Parts, randomText, taken } from "./parts.ts";

// The pure rules, with what they need from the server around them.

/** What judging takes; the world may be one that is only thought of. */
export type Judging = Pick<Parts, "renderer" | "random"> & { readonly world: World };

/** What a client sent, as a new object; or refused. */
export async function judgeNew<C extends Collection>(
  parts: Judging,
  collection: C,
  sent: JsonObject,
  write: Write,
): Promise<ObjectOf[C]> {
  const { world } = parts;
  if (collection === "machines") {
    const made = { uuid: newUuid(), secret: randomText(parts, 16), isForced: write.isForced === true };
    return taken(createMachine(sent, world, made)) as ObjectOf[C];
  }
  const read = taken(readObject(collection, sent));
  const own = collection === "users" && asJson(read)["Secret"] === "" ? { Secret: randomText(parts, 16) } : {};
  return judged(parts, collection, { ...read, ...own }, undefined);
}

/** `old` itself if nothing changes. */
export async function judgeChange<C extends Collection>(
  parts: Judging,
  collection: C,
  sent: JsonObject,
  old: ObjectOf[C],
  write: Write,
): Promise<ObjectOf[C]> {
  const read = taken(readObject(collection, sent, old));
  if (collection !== "machines") return judged(parts, collection, read, old);
  return taken(changeMachine(old as Machine, read as Machine, parts.world, howOf(write))) as ObjectOf[C];
}

const howOf = ({ by, isForced, mayReposition }: Write) => ({
  isForced: isForced === true,
  mayReposition: mayReposition === true,
  isUser: by.kind === "user",
});

/** Sound and with what is computed, or refused. */
async function judged<C extends Collection>(
  parts: Judging,
  collection: C,
  object: ObjectOf[C],
  old: ObjectOf[C] | undefined,
): Promise<ObjectOf[C]> {
  const { world } = parts;
  const key = keyOf(collection, object);
  const unsound = [...syntaxErrors(collection, object, world, old), ...(await templateErrors(parts, object))];
  if (unsound.length > 0) throw new Refused(unsoundObject(collection, key, unsound));
  return { ...object, ...availability(collection, object, world) };
}

export async function templateErrors(
  { renderer }: Pick<Judging, "renderer" | "world">,
  object: AnyObject,
): Promise<readonly string[]> {
  if (renderer === undefined) return [];
  return "ID" in object || "Templates" in object ? await renderer.check(object) : [];
}
