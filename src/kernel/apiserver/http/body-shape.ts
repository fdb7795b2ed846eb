import { tooLarge } from "#kernel/model/index.ts";
import type { JsonExcess } from "#lib/json/index.ts";
import type { Limits } from "../verbs/limits.ts";

/** Throws 413 for a body that consists of too much; what is too deep is for its reader to say, who knows where. */
export function refuseExcess(
  excess: JsonExcess,
  { maxBodyValues, maxObjectMembers }: Pick<Limits, "maxBodyValues" | "maxObjectMembers">,
): void {
  if (excess === "maxValues") throw tooLarge(`the body of the request holds more than ${maxBodyValues} values`);
  if (excess === "maxMembers") {
    throw tooLarge(`the body of the request holds an object with more than ${maxObjectMembers} members`);
  }
}
