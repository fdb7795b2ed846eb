import { type Case, refused } from "../suite/case.ts";
import { configMap, pod } from "./documents.ts";

const managers = "-o 'jsonpath={range .metadata.managedFields[*]}{.manager} {.operation}{\"\\n\"}{end}'";
const two = {
  ...pod("p", "sleep 60", {
    nodeName: "nowhere",
    containers: [
      { name: "x", image: "busybox" },
      { name: "y", image: "busybox" },
    ],
  }),
};
const onlyY = (image: string) => pod("p", "", { nodeName: "nowhere", containers: [{ name: "y", image }] });

export const serverSideCases: readonly Case[] = [
  {
    line: 5,
    name: "apply --server-side creates, and changes nothing the second time",
    files: { "a.json": configMap("a", { k: "1" }) },
    steps: [
      ["kubectl apply --server-side -f a.json", "configmap/a serverside-applied\n"],
      ["kubectl get cm a -o 'jsonpath={.metadata.resourceVersion}' >before"],
      ["kubectl apply --server-side -f a.json", "configmap/a serverside-applied\n"],
      ["kubectl get cm a -o 'jsonpath={.metadata.resourceVersion}' | cmp - before"],
      [`kubectl get cm a ${managers}`, "kubectl Apply\n"],
    ],
  },
  {
    line: 5,
    name: "a conflict names the manager and the field; --force-conflicts takes it over",
    files: { "a.json": configMap("a", { k: "1", l: "1" }), "b.json": configMap("a", { k: "2" }) },
    steps: [
      ["kubectl apply --server-side --field-manager=one -f a.json"],
      [
        "kubectl apply --server-side --field-manager=two -f b.json",
        refused(/Apply failed with 1 conflict: conflict with "one": \.data\.k/),
      ],
      ["kubectl apply --server-side --field-manager=two --force-conflicts -f b.json", /serverside-applied/],
      ["kubectl get cm a -o 'jsonpath={.data.k}{.data.l}'", "21"],
      ["kubectl apply --server-side --field-manager=one -f a.json", refused(/conflict with "two": \.data\.k/)],
    ],
  },
  {
    line: 5,
    name: "what an applier leaves out is pruned, what others declare stays",
    files: {
      "kl.json": configMap("a", { k: "1", l: "1" }),
      "m.json": configMap("a", { m: "1" }),
      "l.json": configMap("a", { l: "1" }),
    },
    steps: [
      ["kubectl apply --server-side --field-manager=one -f kl.json"],
      ["kubectl apply --server-side --field-manager=two -f m.json"],
      ["kubectl apply --server-side --field-manager=one -f l.json"],
      ["kubectl get cm a -o 'jsonpath={.data}'", '{"l":"1","m":"1"}'],
    ],
  },
  {
    line: 5,
    name: "items of lists are known by their keys",
    files: { "two.json": two, "y.json": onlyY("alpine"), "z.json": onlyY("debian") },
    steps: [
      ["kubectl apply --server-side --field-manager=one -f two.json"],
      ["kubectl apply --server-side --field-manager=two --force-conflicts -f y.json"],
      ["kubectl get pod p -o 'jsonpath={.spec.containers[*].image}'", "busybox alpine"],
      [
        "kubectl apply --server-side --field-manager=three -f z.json",
        refused(/conflict with "two".*: \.spec\.containers\[name="y"\]\.image/),
      ],
      ["kubectl delete pod p --grace-period=0 --force", { err: /.*/ }],
    ],
  },
  {
    line: 6,
    name: "going over from client-side apply leaves kubectl as the manager of all it declared",
    since: 26,
    files: { "a.json": configMap("a", { k: "1", l: "1" }), "b.json": configMap("a", { k: "2" }) },
    steps: [
      ["kubectl apply -f a.json"],
      [`kubectl get cm a ${managers}`, "kubectl-client-side-apply Update\n"],
      ["kubectl apply --server-side -f a.json"],
      // kubectl applies its own annotation under a name of its own. Entries stand by their time, which has seconds only.
      [`kubectl get cm a ${managers} | LC_ALL=C sort`, "kubectl Apply\nkubectl-last-applied Apply\n"],
      ["kubectl apply --server-side -f b.json"],
      ["kubectl get cm a -o 'jsonpath={.data}'", '{"k":"2"}'],
    ],
  },
  {
    line: 6,
    name: "and back: client-side apply finds its own annotation renewed",
    since: 26,
    files: { "a.json": configMap("a", { k: "1", l: "1" }), "b.json": configMap("a", { k: "2" }) },
    steps: [
      ["kubectl apply -f a.json && kubectl apply --server-side -f a.json"],
      ["kubectl apply -f b.json", "configmap/a configured\n"],
      ["kubectl get cm a -o 'jsonpath={.data}'", '{"k":"2"}'],
    ],
  },
];
