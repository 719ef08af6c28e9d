// The scene editor. PALETTE (colours, backgrounds, shapes, limits) is put in front by the server.
//
// Edits are numbered. Those the server has not acknowledged are sent again with each new one, so
// that none is lost or applied twice; a scene that is older than the last edit sent is ignored.

const SVG = "http://www.w3.org/2000/svg";
const UNIT = 1000; // of the SVG's view box
const STEP = 0.01, BIG_STEP = 0.05; // of the canvas, arrow keys without and with Shift
const SEND_DELAY = 220; // ms after the last key or slider tick
const PATIENCE = 5000; // ms; then the server is taken to be gone, and clicks count at once again

const TOOLS = [
  ["add", "Add", "Add an object"],
  ["duplicate", "Duplicate", "Duplicate the selected object"],
  ["delete", "Delete", "Delete the selected object"],
  ["forward", "Forward", "Bring the selected object forward"],
  ["undo", "Undo", "Undo the last edit"],
  ["redo", "Redo", "Redo the edit that was undone"],
];
const NUMBERS = [["x", "Across"], ["y", "Down"], ["size", "Size"]];
const SAID = {
  add: "Object added.",
  duplicate: "Object duplicated.",
  delete: "Object deleted.",
  forward: "Object brought forward.",
  undo: "Undone.",
  redo: "Done again.",
};

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const rounded = (value) => Math.round(value * 1000) / 1000;

function element(name, attributes = {}, namespace = null) {
  const made = namespace ? document.createElementNS(namespace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function limits(field) {
  return field === "size" ? PALETTE.sizes : [0, 1];
}

class Editor {
  constructor(root) {
    this.root = root;
    this.selected = 0;
    this.sent = 0; // number of the last edit
    this.pending = []; // edits the server has not acknowledged
    this.unanswered = null; // the timer of an edit that waits for the server's answer
    this.waiting = []; // the actions that wait with it
    this.timer = null;
    this.stage = root.querySelector(".stage");
    this.live = root.querySelector(".live");
    this.buildToolbar();
    this.buildInspector();
    root.querySelector(".inspector").addEventListener("submit", (event) => event.preventDefault());
  }

  // --- what comes from the server -------------------------------------------------------------

  receive(component) {
    this.send = (edits) => component.setStateValue("edits", edits);
    const { scene, acknowledged, can_undo, can_redo } = component.data;
    this.pending = this.pending.filter((edit) => edit.number > acknowledged);
    this.sent = Math.max(this.sent, acknowledged);
    this.history = { undo: can_undo, redo: can_redo };
    this.latest = component;
    if (this.pending.length || this.timer || this.drag) return; // our own edits are newer
    const grown = this.scene && scene.objects.length > this.scene.objects.length;
    if (grown) this.selected = scene.objects.length - 1;
    this.scene = structuredClone(scene);
    this.numbered = component.data.numbered;
    this.selected = clamp(this.selected, 0, scene.objects.length - 1);
    this.draw();
    this.answered();
  }

  // What only the server can do (a new object, undo) is seen after its answer; a click in between
  // waits for it, so that it acts on what its user expects to be there.
  whenAnswered(action) {
    if (this.unanswered) this.waiting.push(action);
    else action();
  }

  answered() {
    clearTimeout(this.unanswered);
    this.unanswered = null;
    while (this.waiting.length && !this.unanswered) this.waiting.shift()();
  }

  // --- what goes to the server ----------------------------------------------------------------

  submit(edit) {
    this.sent += 1;
    this.pending.push({ number: this.sent, ...edit });
    this.send([...this.pending]); // a copy: what is sent must not change afterwards
  }

  change(fields, { later = false } = {}) {
    Object.assign(this.scene.objects[this.selected], fields);
    this.draw();
    this.changed = { ...this.changed, ...fields };
    this.changedIndex = this.selected;
    clearTimeout(this.timer);
    this.timer = null;
    if (later) this.timer = setTimeout(() => this.flush(), SEND_DELAY);
    else this.flush();
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.changed) return;
    const fields = this.changed;
    this.changed = null;
    this.submit({ op: "change", index: this.changedIndex, ...fields });
  }

  run(op) {
    this.flush();
    const index = this.selected;
    const { objects } = this.scene;
    // What moves positions is done here at once, so that the next edit names the right object.
    if (op === "forward") {
      if (index === objects.length - 1) return;
      [objects[index], objects[index + 1]] = [objects[index + 1], objects[index]];
      this.selected = index + 1;
    } else if (op === "delete") {
      if (objects.length === 1) return;
      const focused = this.stage.contains(this.focused());
      objects.splice(index, 1);
      this.selected = clamp(index, 0, objects.length - 1);
      this.draw();
      if (focused) this.stage.children[this.selected].focus();
    }
    this.draw();
    if (!["forward", "delete"].includes(op)) {
      clearTimeout(this.unanswered);
      this.unanswered = setTimeout(() => this.answered(), PATIENCE);
    }
    this.submit({ op, index });
    this.live.textContent = SAID[op];
  }

  focused() {
    return this.root.activeElement ?? this.root.getRootNode().activeElement;
  }

  select(index) {
    if (index !== this.selected) this.flush();
    this.selected = index;
    this.draw();
  }

  // --- drawing --------------------------------------------------------------------------------

  draw() {
    const { objects, background } = this.scene;
    this.stage.style.background = PALETTE.backgrounds[background];
    this.stage.setAttribute("class", `stage ground-${background}`);
    while (this.stage.children.length > objects.length) this.stage.lastChild.remove();
    while (this.stage.children.length < objects.length) this.stage.append(this.newObject());
    objects.forEach((object, index) => {
      const group = this.stage.children[index];
      const scale = object.size * UNIT;
      group.setAttribute("transform", `translate(${object.x * UNIT} ${object.y * UNIT}) scale(${scale})`);
      group.classList.toggle("selected", index === this.selected);
      group.setAttribute("aria-pressed", index === this.selected);
      group.setAttribute(
        "aria-label",
        `${object.colour} ${object.shape}, object ${index + 1} of ${objects.length}, ` +
          `${Math.round(object.x * 100)} % across, ${Math.round(object.y * 100)} % down`,
      );
      group.dataset.object = `${object.colour} ${object.shape}`;
      const [polygon, , number] = group.children;
      number.textContent = this.numbered ? index + 1 : "";
      polygon.setAttribute("points", PALETTE.shapes[object.shape]);
      polygon.setAttribute("fill", PALETTE.colours[object.colour]);
    });
    this.drawInspector();
  }

  newObject() {
    const group = element("g", { class: "object", tabindex: "0", role: "button" }, SVG);
    group.append(
      element("polygon", { "fill-rule": "evenodd" }, SVG),
      element("rect", { class: "halo", x: -0.56, y: -0.56, width: 1.12, height: 1.12, rx: 0.08 }, SVG),
      element("text", { class: "number", x: -0.5, y: -0.34, "aria-hidden": "true" }, SVG),
    );
    const index = () => [...this.stage.children].indexOf(group);
    group.addEventListener("focus", () => this.select(index()));
    group.addEventListener("keydown", (event) => this.onKey(event));
    group.addEventListener("pointerdown", (event) => this.onGrab(event, group, index()));
    group.addEventListener("pointermove", (event) => this.onDrag(event));
    group.addEventListener("pointerup", (event) => this.onDrop(event, group));
    group.addEventListener("pointercancel", (event) => this.onDrop(event, group));
    return group;
  }

  drawInspector() {
    const object = this.scene.objects[this.selected];
    const count = this.scene.objects.length;
    this.root.querySelector(".who").textContent =
      `Object ${this.selected + 1} of ${count}: ${object.colour} ${object.shape}`;
    const chosen = { colours: object.colour, shapes: object.shape, grounds: this.scene.background };
    for (const [kind, value] of Object.entries(chosen)) {
      for (const button of this.root.querySelectorAll(`.${kind} button`)) {
        const checked = button.dataset.value === value;
        button.setAttribute("aria-checked", checked);
        button.tabIndex = checked ? 0 : -1;
      }
    }
    for (const [field] of NUMBERS) {
      const input = this.root.querySelector(`input[name=${field}]`);
      input.value = object[field];
      input.nextElementSibling.value = Math.round(object[field] * 100);
    }
    const disabled = {
      add: count >= PALETTE.max_objects,
      duplicate: count >= PALETTE.max_objects,
      delete: count < 2,
      forward: this.selected === count - 1,
      undo: !this.history.undo,
      redo: !this.history.redo,
    };
    for (const button of this.root.querySelectorAll(".toolbar button")) {
      // Not the attribute "disabled": it would take the focus away from whoever uses the keyboard.
      button.setAttribute("aria-disabled", disabled[button.dataset.op]);
    }
  }

  buildToolbar() {
    const toolbar = this.root.querySelector(".toolbar");
    for (const [op, text, title] of TOOLS) {
      const button = element("button", { type: "button", title, "data-op": op });
      button.textContent = text;
      button.addEventListener("click", () => {
        this.whenAnswered(() => {
          if (button.getAttribute("aria-disabled") !== "true") this.run(op);
        });
      });
      toolbar.append(button);
    }
  }

  buildInspector() {
    this.choices("colours", Object.keys(PALETTE.colours), (value) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = PALETTE.colours[value];
      return swatch;
    }, (value) => this.change({ colour: value }));
    this.choices("shapes", Object.keys(PALETTE.shapes), (value) => {
      const picture = element("svg", { viewBox: "-0.6 -0.6 1.2 1.2", "aria-hidden": "true" }, SVG);
      picture.append(element("polygon", { points: PALETTE.shapes[value], "fill-rule": "evenodd" }, SVG));
      return picture;
    }, (value) => this.change({ shape: value }));
    this.choices("grounds", Object.keys(PALETTE.backgrounds), (value) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = PALETTE.backgrounds[value];
      return swatch;
    }, (value) => {
      this.flush();
      this.submit({ op: "background", background: value });
    });
    const row = this.root.querySelector(".numbers");
    for (const [field, text] of NUMBERS) {
      const label = element("label");
      const [low, high] = limits(field);
      const input = element("input", { type: "range", name: field, min: low, max: high, step: STEP });
      input.addEventListener("input", () => this.change({ [field]: Number(input.value) }, { later: true }));
      input.addEventListener("change", () => this.flush());
      const caption = element("span", { class: "name" });
      caption.textContent = text;
      label.append(caption, input, element("output"));
      row.append(label);
    }
  }

  choices(kind, values, picture, choose) {
    const group = this.root.querySelector(`.${kind}`);
    for (const value of values) {
      const button = element("button", { type: "button", role: "radio", title: value, "aria-label": value, "data-value": value });
      button.append(picture(value));
      button.addEventListener("click", () => this.whenAnswered(() => choose(value)));
      group.append(button);
    }
    group.addEventListener("keydown", (event) => {
      const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!turn) return;
      event.preventDefault();
      const buttons = [...group.children];
      const now = buttons.indexOf(this.focused());
      const next = buttons[(now + turn + buttons.length) % buttons.length];
      next.focus();
      next.click();
    });
  }

  // --- pointer and keyboard -------------------------------------------------------------------

  toCanvas(event) {
    const box = this.stage.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  onGrab(event, group, index) {
    if (event.button) return;
    this.select(index);
    const [x, y] = this.toCanvas(event);
    const object = this.scene.objects[index];
    this.drag = { dx: object.x - x, dy: object.y - y, moved: false };
    group.setPointerCapture(event.pointerId);
    group.classList.add("dragging");
  }

  onDrag(event) {
    if (!this.drag) return;
    const [x, y] = this.toCanvas(event);
    const object = this.scene.objects[this.selected];
    object.x = rounded(clamp(x + this.drag.dx, 0, 1));
    object.y = rounded(clamp(y + this.drag.dy, 0, 1));
    this.drag.moved = true;
    this.draw();
  }

  onDrop(event, group) {
    if (!this.drag) return;
    const { moved } = this.drag;
    this.drag = null;
    group.classList.remove("dragging");
    const { x, y } = this.scene.objects[this.selected];
    if (moved) this.change({ x, y });
    else this.receive(this.latest); // what came meanwhile was not drawn
  }

  onKey(event) {
    const step = event.shiftKey ? BIG_STEP : STEP;
    const object = this.scene.objects[this.selected];
    const moves = {
      ArrowLeft: ["x", -step], ArrowRight: ["x", step], ArrowUp: ["y", -step], ArrowDown: ["y", step],
      "+": ["size", step], "-": ["size", -step],
    };
    if (event.key === "Delete") {
      event.preventDefault();
      this.run("delete");
    } else if (moves[event.key]) {
      event.preventDefault();
      const [field, by] = moves[event.key];
      const [low, high] = limits(field);
      this.change({ [field]: rounded(clamp(object[field] + by, low, high)) }, { later: true });
      this.live.textContent = field === "size"
        ? `Size ${Math.round(object.size * 100)}`
        : `${Math.round(object.x * 100)} across, ${Math.round(object.y * 100)} down`;
    }
  }
}

const editors = new WeakMap();

export default function (component) {
  const root = component.parentElement;
  const stage = root.querySelector(".stage"); // a new one means that the component was mounted anew
  if (!editors.has(stage)) editors.set(stage, new Editor(root));
  editors.get(stage).receive(component);
}
