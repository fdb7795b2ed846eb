import { type Case, eventually, refused } from "../suite/case.ts";
import { configMap, deployment, job, pod } from "./documents.ts";

const noPods = ["kubectl get pods -o name", eventually("")] as const;
const held = configMap("a", {}, { finalizers: ["example.org/held"] });
const many = {
  apiVersion: "v1",
  kind: "List",
  items: ["a", "b", "c"].map((name) => configMap(name, {}, { labels: { l: name } })),
};

export const deletingCases: readonly Case[] = [
  {
    line: 16,
    name: "delete waits until a Pod has ended within its grace",
    files: { "p.json": pod("p", "exec sleep 60") },
    steps: [
      ["kubectl create -f p.json && kubectl wait --for=condition=Ready pod/p --timeout=60s"],
      ["kubectl delete pod p --grace-period=1 --timeout=60s", 'pod "p" deleted\n'],
      ["kubectl get pod p", refused(/pods "p" not found/)],
    ],
  },
  {
    line: 16,
    name: "delete --now, --force and --wait=false",
    files: {
      "p.json": pod("p", "exec sleep 60"),
      "q.json": pod("q", "exec sleep 60"),
      "r.json": pod("r", "exec sleep 60"),
    },
    steps: [
      ["kubectl create -f p.json -f q.json -f r.json && kubectl wait --for=condition=Ready pod --all --timeout=60s"],
      ["kubectl delete pod p --now", 'pod "p" deleted\n'],
      [
        "kubectl delete pod q --force --grace-period=0",
        { out: /pod "q" force deleted/, err: /[Ww]arning: [Ii]mmediate deletion/ },
      ],
      ["kubectl delete pod r --wait=false", 'pod "r" deleted\n'],
      noPods,
    ],
  },
  {
    line: 16,
    name: "delete by label, by field, and all",
    files: { "many.json": many },
    steps: [
      ["kubectl create -f many.json"],
      ["kubectl delete cm -l l=a", 'configmap "a" deleted\n'],
      ["kubectl delete cm --field-selector metadata.name=b", 'configmap "b" deleted\n'],
      ["kubectl delete cm --all", /configmap "c" deleted/],
      ["kubectl delete cm c", refused(/configmaps "c" not found/)],
      ["kubectl delete cm c --ignore-not-found", ""],
    ],
  },
  {
    line: 16,
    name: "delete --cascade=background takes what the object owns with it",
    files: { "j.json": job("j", "true") },
    steps: [
      ["kubectl create -f j.json && kubectl wait --for=condition=complete job/j --timeout=60s"],
      ["kubectl delete job j --cascade=background", /deleted/],
      noPods,
    ],
  },
  {
    line: 16,
    name: "delete --cascade=foreground ends when all that it owns is gone",
    files: { "d.json": deployment("d", 2) },
    needs: ["deployments.apps"],
    steps: [
      ["kubectl create -f d.json && kubectl wait --for=condition=Available deployment/d --timeout=60s"],
      ["kubectl delete deployment d --cascade=foreground --timeout=60s", /deleted/],
      ["kubectl get pods,rs -o name", ""],
    ],
  },
  {
    line: 16,
    name: "delete --cascade=orphan leaves what the object owns, without its references",
    files: { "d.json": deployment("d", 1) },
    needs: ["deployments.apps"],
    steps: [
      ["kubectl create -f d.json && kubectl wait --for=condition=Available deployment/d --timeout=60s"],
      ["kubectl delete deployment d --cascade=orphan", /deleted/],
      ["kubectl get deployment d", refused(/not found/)],
      ["kubectl get rs -o 'jsonpath={.items[*].metadata.ownerReferences}'", ""],
      ["kubectl get rs -o name | wc -l", /^ *1\n$/],
      ["kubectl delete rs --all --cascade=orphan", /deleted/],
      ["kubectl get pods -o 'jsonpath={.items[*].metadata.ownerReferences} {.items[*].status.phase}'", " Running"],
    ],
  },
  {
    line: 17,
    name: "a finalizer holds an object until a patch removes it",
    files: { "a.json": held },
    steps: [
      ["kubectl create -f a.json && kubectl delete cm a --wait=false", 'configmap/a created\nconfigmap "a" deleted\n'],
      ["kubectl get cm a -o 'jsonpath={.metadata.deletionTimestamp}'", /^\d{4}-/],
      [
        `kubectl patch cm a --type=merge -p '{"metadata":{"finalizers":["example.org/held","example.org/more"]}}'`,
        refused(/metadata\.finalizers: Forbidden/),
      ],
      [`kubectl patch cm a --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`, /patched/],
      ["kubectl get cm a", refused(/configmaps "a" not found/)],
    ],
  },
  {
    line: 18,
    name: "deleting a namespace empties all kinds in it",
    files: { "p.json": pod("p", "exec sleep 60"), "j.json": job("j", "exec sleep 60"), "a.json": configMap("a") },
    steps: [
      ["kubectl create ns $NS-x"],
      [
        "kubectl -n $NS-x create -f p.json -f j.json -f a.json && kubectl -n $NS-x wait --for=condition=Ready pod/p --timeout=60s",
      ],
      ["kubectl -n $NS-x create secret generic s && kubectl -n $NS-x create sa s"],
      ["kubectl delete ns $NS-x --timeout=100s", /deleted/],
      ["kubectl get ns $NS-x", refused(/namespaces "\S+-x" not found/)],
      ["kubectl get cm,secret,sa,pods,jobs -n $NS-x -o name", ""],
    ],
  },
  {
    line: 18,
    name: "nothing is created in a namespace that ends",
    files: { "a.json": held, "b.json": configMap("b") },
    steps: [
      ["kubectl create ns $NS-x && kubectl -n $NS-x create -f a.json"],
      ["kubectl delete ns $NS-x --wait=false"],
      ["kubectl get ns $NS-x -o 'jsonpath={.status.phase}'", eventually("Terminating")],
      [
        "kubectl -n $NS-x create -f b.json",
        refused(/forbidden: unable to create new content in namespace \S+-x because it is being terminated/),
      ],
      ["kubectl get ns $NS-x -o json", eventually(/"NamespaceFinalizersRemaining"/)],
      [
        `kubectl -n $NS-x patch cm a --type=merge -p '{"metadata":{"finalizers":null}}' && kubectl delete ns $NS-x --ignore-not-found --timeout=100s`,
      ],
    ],
  },
];
