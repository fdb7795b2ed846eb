// etcd as the peer of the embedded API server: durable compare-and-set transactions on 10,000 keys, and a range over all of
// them. etcd 3.4 slows transactions fifty-fold after a bulk load (its read buffer is copied by every transaction), so writes
// are measured on a server that was not filled.
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import { serve } from "./_host.mjs";

const objects = 10_000;
const connections = 4;
const proto = loader.loadSync(fileURLToPath(new URL("../etcd.proto", import.meta.url)), {
  longs: Number,
  keepCase: true,
});
const { KV } = grpc.loadPackageDefinition(proto).etcdserverpb;
const options = { "grpc.use_local_subchannel_pool": 1, "grpc.max_receive_message_length": 1 << 28 };
const clients = Array.from(
  { length: connections },
  () => new KV(`127.0.0.1:${process.env.SERVICE_PORT}`, grpc.credentials.createInsecure(), options),
);
const call = (caller, method, request) =>
  new Promise((resolve, reject) => {
    clients[caller % connections][method](request, (error, answer) => (error ? reject(error) : resolve(answer)));
  });

let seed = 1;
function random() {
  seed = (seed * 1_664_525 + 1_013_904_223) >>> 0;
  return seed % objects;
}

const valueOf = (bytes) => {
  const text = JSON.stringify({
    apiVersion: "bench.slipway.dev/v1",
    kind: "Item",
    metadata: { name: "item" },
    text: "",
  });
  return Buffer.from(text.replace('""', `"${"x".repeat(bytes - text.length)}"`));
};
const small = valueOf(1024);
const large = valueOf(2048);
const keyOf = (prefix, index) => Buffer.from(`/registry/${prefix}/default/item-${String(index).padStart(6, "0")}`);

serve(
  {
    txn: async (_id, caller) => {
      const key = keyOf("written", random());
      const compare = [{ result: "GREATER", target: "MOD", key, mod_revision: -1 }];
      const { succeeded } = await call(caller, "Txn", {
        compare,
        success: [{ request_put: { key, value: small } }],
        failure: [],
      });
      if (!succeeded) throw new Error("a transaction was refused");
    },
    range: async () => {
      const { kvs } = await call(0, "Range", {
        key: Buffer.from("/registry/listed/"),
        range_end: Buffer.from("/registry/listed0"),
      });
      if (kvs.length !== objects) throw new Error(`${kvs.length} of ${objects} keys`);
    },
  },
  {
    async fill() {
      for (let index = 0; index < objects; index += 100) {
        const put = (_, offset) => call(offset, "Put", { key: keyOf("listed", index + offset), value: large });
        await Promise.all(Array.from({ length: 100 }, put));
      }
    },
  },
);
