import type { ModelError } from "../failure.ts";
import type { Collection } from "../objects.ts";
import type { World } from "../world.ts";

export const dependants = (
  _collection: Collection,
  _key: string,
  world: World,
): readonly { readonly collection: Collection; readonly key: string }[] => [
  ...world.all("tasks").map(({ Name }) => ({ collection: "tasks" as const, key: Name })),
  ...world.all("bootenvs").map(({ Name }) => ({ collection: "bootenvs" as const, key: Name })),
  ...world.all("stages").map(({ Name }) => ({ collection: "stages" as const, key: Name })),
  ...world.all("workflows").map(({ Name }) => ({ collection: "workflows" as const, key: Name })),
  ...world.all("machines").map(({ Uuid }) => ({ collection: "machines" as const, key: Uuid })),
];

export const inUse = (_collection: Collection, _key: string, _world: World): ModelError | undefined => undefined;
