import { describe } from "vitest";
import { openStore } from "./open.ts";
import { storeContract } from "./store.contract.ts";
import { withDirectory } from "./test-objects.ts";

describe("the store on LMDB", () => {
  storeContract((use, options) =>
    withDirectory(async (directory) => {
      const store = await openStore(directory, options);
      try {
        await use(store);
      } finally {
        await store.close();
      }
    }),
  );
});
