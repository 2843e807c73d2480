/* nvtx3/nvtx3.hpp: ranges and marks as objects ("NVTX C++ API"), over nvToolsExt.h, for programs
 * that take the header from the toolkit. NVIDIA's own, where a program brings it, comes first.
 *
 * A domain is a class that has `static constexpr const char *name`; a registered string is a class
 * that has `message`, a named category one that has `name` and `id`. */
#ifndef NVTX3_CPP_DEFINITIONS_V1_0
#define NVTX3_CPP_DEFINITIONS_V1_0

#ifndef NVTX3_CPP_VERSION_MAJOR
#define NVTX3_CPP_VERSION_MAJOR 1
#define NVTX3_CPP_VERSION_MINOR 1
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "nvToolsExt.h"

namespace nvtx3
{
inline namespace v1
{

/* ---- what belongs to a range ---- */

class domain
{
  public:
    struct global {
    };
    domain(const domain &) = delete;
    domain &operator=(const domain &) = delete;
    operator nvtxDomainHandle_t() const noexcept { return handle; }

    /* The one of the class D, which the first call registers. */
    template <typename D = global> static const domain &get() noexcept
    {
        static const domain one{static_cast<const D *>(nullptr)};
        return one;
    }

  private:
    explicit domain(const global *) noexcept : handle(nullptr) {}
    template <typename D> explicit domain(const D *) noexcept : handle(create(D::name)) {}
    static nvtxDomainHandle_t create(const char *name) noexcept { return nvtxDomainCreateA(name); }
    static nvtxDomainHandle_t create(const wchar_t *name) noexcept
    {
        return nvtxDomainCreateW(name);
    }
    nvtxDomainHandle_t handle;
};

struct rgb {
    using component_type = std::uint8_t;
    constexpr rgb(component_type r, component_type g, component_type b) noexcept
        : red(r), green(g), blue(b)
    {
    }
    component_type red, green, blue;
};

struct argb : rgb {
    constexpr argb(component_type a, component_type r, component_type g, component_type b) noexcept
        : rgb(r, g, b), alpha(a)
    {
    }
    component_type alpha;
};

class color
{
  public:
    using value_type = std::uint32_t;
    constexpr explicit color(value_type value) noexcept : code(value) {}
    constexpr color(argb c) noexcept
        : code(std::uint32_t{c.alpha} << 24 | std::uint32_t{c.red} << 16 |
               std::uint32_t{c.green} << 8 | std::uint32_t{c.blue})
    {
    }
    constexpr color(rgb c) noexcept : color(argb(0xff, c.red, c.green, c.blue)) {}
    constexpr value_type get_value() const noexcept { return code; }
    constexpr nvtxColorType_t get_type() const noexcept { return NVTX_COLOR_ARGB; }

  private:
    value_type code;
};

class category
{
  public:
    using id_type = std::uint32_t;
    constexpr explicit category(id_type id) noexcept : number(id) {}
    constexpr id_type get_id() const noexcept { return number; }

  private:
    id_type number;
};

template <typename D = domain::global> class named_category_in : public category
{
  public:
    template <typename C> static const named_category_in &get() noexcept
    {
        static const named_category_in one(C::id, C::name);
        return one;
    }
    named_category_in(id_type id, const char *name) noexcept : category(id)
    {
        nvtxDomainNameCategoryA(domain::get<D>(), id, name);
    }
    named_category_in(id_type id, const wchar_t *name) noexcept : category(id)
    {
        nvtxDomainNameCategoryW(domain::get<D>(), id, name);
    }
};
using named_category = named_category_in<>;

template <typename D = domain::global> class registered_string_in
{
  public:
    template <typename M> static const registered_string_in &get() noexcept
    {
        static const registered_string_in one(M::message);
        return one;
    }
    explicit registered_string_in(const char *text) noexcept
        : handle(nvtxDomainRegisterStringA(domain::get<D>(), text))
    {
    }
    explicit registered_string_in(const wchar_t *text) noexcept
        : handle(nvtxDomainRegisterStringW(domain::get<D>(), text))
    {
    }
    explicit registered_string_in(const std::string &text) noexcept
        : registered_string_in(text.c_str())
    {
    }
    explicit registered_string_in(const std::wstring &text) noexcept
        : registered_string_in(text.c_str())
    {
    }
    nvtxStringHandle_t get_handle() const noexcept { return handle; }

  private:
    nvtxStringHandle_t handle;
};
using registered_string = registered_string_in<>;

/* It does not keep the text. */
class message
{
  public:
    using value_type = nvtxMessageValue_t;
    message(const char *text) noexcept : type(NVTX_MESSAGE_TYPE_ASCII), value{}
    {
        value.ascii = text;
    }
    message(const wchar_t *text) noexcept : type(NVTX_MESSAGE_TYPE_UNICODE), value{}
    {
        value.unicode = text;
    }
    message(const std::string &text) noexcept : message(text.c_str()) {}
    message(const std::wstring &text) noexcept : message(text.c_str()) {}
    message(std::string &&) = delete;
    message(std::wstring &&) = delete;
    template <typename D>
    message(const registered_string_in<D> &text) noexcept
        : type(NVTX_MESSAGE_TYPE_REGISTERED), value{}
    {
        value.registered = text.get_handle();
    }
    constexpr message(nvtxMessageType_t t, const value_type &v) noexcept : type(t), value(v) {}
    constexpr value_type get_value() const noexcept { return value; }
    constexpr nvtxMessageType_t get_type() const noexcept { return type; }

  private:
    nvtxMessageType_t type;
    value_type value;
};

class payload
{
  public:
    using value_type = nvtxEventAttributes_v2::payload_t;
    explicit payload(std::int64_t v) noexcept : type(NVTX_PAYLOAD_TYPE_INT64) { value.llValue = v; }
    explicit payload(std::int32_t v) noexcept : type(NVTX_PAYLOAD_TYPE_INT32) { value.iValue = v; }
    explicit payload(std::uint64_t v) noexcept : type(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
    {
        value.ullValue = v;
    }
    explicit payload(std::uint32_t v) noexcept : type(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
    {
        value.uiValue = v;
    }
    explicit payload(float v) noexcept : type(NVTX_PAYLOAD_TYPE_FLOAT) { value.fValue = v; }
    explicit payload(double v) noexcept : type(NVTX_PAYLOAD_TYPE_DOUBLE) { value.dValue = v; }
    payload(nvtxPayloadType_t t, const value_type &v) noexcept : type(t), value(v) {}
    value_type get_value() const noexcept { return value; }
    nvtxPayloadType_t get_type() const noexcept { return type; }

  private:
    nvtxPayloadType_t type;
    value_type value{};
};

/* All of that, in any order; the first of a kind counts. */
class event_attributes
{
  public:
    using value_type = nvtxEventAttributes_t;
    event_attributes() noexcept : attributes{}
    {
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    }
    template <typename... Rest>
    explicit event_attributes(const category &c, const Rest &...rest) noexcept
        : event_attributes(rest...)
    {
        attributes.category = c.get_id();
    }
    template <typename... Rest>
    explicit event_attributes(const color &c, const Rest &...rest) noexcept
        : event_attributes(rest...)
    {
        attributes.color = c.get_value();
        attributes.colorType = c.get_type();
    }
    template <typename... Rest>
    explicit event_attributes(const payload &p, const Rest &...rest) noexcept
        : event_attributes(rest...)
    {
        attributes.payload = p.get_value();
        attributes.payloadType = p.get_type();
    }
    template <typename... Rest>
    explicit event_attributes(const message &m, const Rest &...rest) noexcept
        : event_attributes(rest...)
    {
        attributes.message = m.get_value();
        attributes.messageType = m.get_type();
    }
    const value_type *get() const noexcept { return &attributes; }

  private:
    value_type attributes;
};

/* ---- ranges and marks ---- */

/* From the constructor to the destructor, in one thread. */
template <typename D = domain::global> class scoped_range_in
{
  public:
    explicit scoped_range_in(const event_attributes &a) noexcept
    {
        nvtxDomainRangePushEx(domain::get<D>(), a.get());
    }
    template <typename First, typename... Rest,
              typename = typename std::enable_if<
                  !std::is_same<event_attributes, typename std::decay<First>::type>::value>::type>
    explicit scoped_range_in(const First &first, const Rest &...rest) noexcept
        : scoped_range_in(event_attributes(first, rest...))
    {
    }
    scoped_range_in() noexcept : scoped_range_in(event_attributes()) {}
    ~scoped_range_in() noexcept { nvtxDomainRangePop(domain::get<D>()); }
    scoped_range_in(const scoped_range_in &) = delete;
    scoped_range_in &operator=(const scoped_range_in &) = delete;
    void *operator new(std::size_t) = delete;
};
using scoped_range = scoped_range_in<>;

class range_handle
{
  public:
    using value_type = nvtxRangeId_t;
    constexpr explicit range_handle(value_type id) noexcept : number(id) {}
    constexpr range_handle() noexcept : number(0) {}
    constexpr range_handle(std::nullptr_t) noexcept : number(0) {}
    constexpr explicit operator bool() const noexcept { return number != 0; }
    constexpr value_type get_value() const noexcept { return number; }
    friend constexpr bool operator==(range_handle a, range_handle b) noexcept
    {
        return a.number == b.number;
    }
    friend constexpr bool operator!=(range_handle a, range_handle b) noexcept
    {
        return a.number != b.number;
    }

  private:
    value_type number;
};

/* Ranges that begin and end wherever it is. */
template <typename D = domain::global>
range_handle start_range_in(const event_attributes &a) noexcept
{
    return range_handle(nvtxDomainRangeStartEx(domain::get<D>(), a.get()));
}
template <typename D = domain::global, typename First, typename... Rest,
          typename = typename std::enable_if<
              !std::is_same<event_attributes, typename std::decay<First>::type>::value>::type>
range_handle start_range_in(const First &first, const Rest &...rest) noexcept
{
    return start_range_in<D>(event_attributes(first, rest...));
}
template <typename... Args> range_handle start_range(const Args &...args) noexcept
{
    return start_range_in<domain::global>(args...);
}
template <typename D = domain::global> void end_range_in(range_handle r) noexcept
{
    nvtxDomainRangeEnd(domain::get<D>(), r.get_value());
}
inline void end_range(range_handle r) noexcept { end_range_in<domain::global>(r); }

/* Such a range, which ends with its owner. */
template <typename D = domain::global> class unique_range_in
{
  public:
    explicit unique_range_in(const event_attributes &a) noexcept : range(start_range_in<D>(a)) {}
    template <typename First, typename... Rest,
              typename = typename std::enable_if<
                  !std::is_same<event_attributes, typename std::decay<First>::type>::value &&
                  !std::is_same<unique_range_in, typename std::decay<First>::type>::value>::type>
    explicit unique_range_in(const First &first, const Rest &...rest) noexcept
        : unique_range_in(event_attributes(first, rest...))
    {
    }
    unique_range_in() noexcept : unique_range_in(event_attributes()) {}
    unique_range_in(unique_range_in &&other) noexcept : range(other.range), owner(other.owner)
    {
        other.owner = false;
    }
    unique_range_in &operator=(unique_range_in &&other) noexcept
    {
        std::swap(range, other.range);
        std::swap(owner, other.owner);
        return *this;
    }
    ~unique_range_in() noexcept
    {
        if (owner)
            end_range_in<D>(range);
    }

  private:
    range_handle range;
    bool owner = true;
};
using unique_range = unique_range_in<>;

template <typename D = domain::global> void mark_in(const event_attributes &a) noexcept
{
    nvtxDomainMarkEx(domain::get<D>(), a.get());
}
template <typename D = domain::global, typename First, typename... Rest,
          typename = typename std::enable_if<
              !std::is_same<event_attributes, typename std::decay<First>::type>::value>::type>
void mark_in(const First &first, const Rest &...rest) noexcept
{
    mark_in<D>(event_attributes(first, rest...));
}
template <typename... Args> void mark(const Args &...args) noexcept
{
    mark_in<domain::global>(args...);
}

/* A range that may not be. */
template <typename D> class optional_range_in
{
  public:
    optional_range_in() noexcept = default;
    void begin(const event_attributes &a) noexcept
    {
        nvtxDomainRangePushEx(domain::get<D>(), a.get());
        begun = true;
    }
    ~optional_range_in() noexcept
    {
        if (begun)
            nvtxDomainRangePop(domain::get<D>());
    }
    optional_range_in(const optional_range_in &) = delete;
    optional_range_in &operator=(const optional_range_in &) = delete;

  private:
    bool begun = false;
};

} // namespace v1
} // namespace nvtx3

/* A range from here to the end of the function, with its name. */
#define NVTX3_V1_FUNC_RANGE_IN(D)                                                                  \
    static const ::nvtx3::v1::registered_string_in<D> nvtx3_func_name__{__func__};                 \
    static const ::nvtx3::v1::event_attributes nvtx3_func_attr__{nvtx3_func_name__};               \
    const ::nvtx3::v1::scoped_range_in<D> nvtx3_range__ { nvtx3_func_attr__ }
#define NVTX3_V1_FUNC_RANGE_IF_IN(D, C)                                                            \
    ::nvtx3::v1::optional_range_in<D> nvtx3_range__;                                               \
    if (C) {                                                                                       \
        static const ::nvtx3::v1::registered_string_in<D> nvtx3_func_name__{__func__};             \
        static const ::nvtx3::v1::event_attributes nvtx3_func_attr__{nvtx3_func_name__};           \
        nvtx3_range__.begin(nvtx3_func_attr__);                                                    \
    }
#define NVTX3_V1_FUNC_RANGE()     NVTX3_V1_FUNC_RANGE_IN(::nvtx3::v1::domain::global)
#define NVTX3_V1_FUNC_RANGE_IF(C) NVTX3_V1_FUNC_RANGE_IF_IN(::nvtx3::v1::domain::global, C)

#define NVTX3_FUNC_RANGE       NVTX3_V1_FUNC_RANGE
#define NVTX3_FUNC_RANGE_IN    NVTX3_V1_FUNC_RANGE_IN
#define NVTX3_FUNC_RANGE_IF    NVTX3_V1_FUNC_RANGE_IF
#define NVTX3_FUNC_RANGE_IF_IN NVTX3_V1_FUNC_RANGE_IF_IN

#endif
