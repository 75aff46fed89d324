// Search runs in a worker, which browsers refuse to pages that are opened from a folder. There, a hidden frame takes its
// place, so that search works without a server and without a script from elsewhere.
if (location.protocol === "file:") {
  // As between a page and a worker: the message is a copy, and it arrives later.
  const send = (data, deliver) => {
    const copy = structuredClone(data);
    setTimeout(() => deliver(copy));
  };

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      this.loaded = new Promise((resolve, reject) => {
        inside.postMessage = (data) => send(data, (copy) => this.tell(new MessageEvent("message", { data: copy })));
        inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(inside, each)));
        this.load(inside, url).then(resolve, reject);
      });
      this.loaded.catch(() => this.tell(new ErrorEvent("error")));
    }

    load(inside, url) {
      return new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, document.baseURI).href;
        script.onload = resolve;
        script.onerror = reject;
        inside.document.body.append(script);
      });
    }

    tell(event) {
      this[`on${event.type}`]?.(event);
      this.dispatchEvent(event);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      const deliver = (copy) => inside.dispatchEvent(new inside.MessageEvent("message", { data: copy }));
      this.loaded.then(() => send(data, deliver));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
